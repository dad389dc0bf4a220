#include "init/init.h"

#include <manymeans/error.h>

#include "prototype/prototype.h"

#include <array>

namespace manymeans {
namespace {

// Above this k the greedy k-means++ costs more than the Lloyd iterations that follow it: it evaluates
// (2 + ln k) N k distances one centre after the other, where an iteration evaluates N k.
constexpr int64_t kMostSequentialCentres = 5000;

}  // namespace

#define MANYMEANS_REGISTER(name, method) bool method(const InitContext&, std::span<InitModel>);
#include "registry/init.inc"
#include "registry/linear_init.inc"
#undef MANYMEANS_REGISTER

std::span<const InitEntry> inits() {
#define MANYMEANS_REGISTER(name, method) InitEntry{name, method},
  static const std::array kEntries = {
#include "registry/init.inc"
  };
#undef MANYMEANS_REGISTER
  return kEntries;
}

std::span<const InitEntry> linear_inits() {
#define MANYMEANS_REGISTER(name, method) InitEntry{name, method},
  static const std::array kEntries = {
#include "registry/linear_init.inc"
  };
#undef MANYMEANS_REGISTER
  return kEntries;
}

const InitEntry& find_init(std::string_view name, const Prototype& prototype, int64_t n, int64_t k, int64_t d) {
  if (prototype.linear) {
    if (name == "auto") name = "random-subsets";
    for (const InitEntry& entry : linear_inits()) {
      if (entry.name == name) return entry;
    }
  }
  return find_init(name, n, k, d);
}

const InitEntry& find_init(std::string_view name, int64_t, int64_t k, int64_t) {
  if (name == "auto") name = k <= kMostSequentialCentres ? "k-means++" : "k-means||";
  std::string known = "auto";
  for (const InitEntry& entry : inits()) {
    if (entry.name == name) return entry;
    known += ", " + std::string(entry.name);
  }
  throw Error(ErrorCode::kUsage, "init", "there is no initialisation '" + std::string(name) + "'; known: " + known);
}

}  // namespace manymeans
