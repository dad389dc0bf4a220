#include "init/init.h"

#include <manymeans/error.h>

#include "prototype/prototype.h"

#include <fmt/format.h>

#include <array>

namespace manymeans {
namespace {

// Above this k the greedy k-means++ costs more than the Lloyd iterations that follow it. It evaluates (2 + ln k) N k
// distances one centre after the other, where an iteration evaluates N k.
constexpr int64_t kMaxSequentialCentres = 5000;

// For each centre k-means++ asks all ranks four times, where k-means|| asks some dozen times in all. A second of
// waiting is worth a word: 4 k times some 50 us between hosts, at k = 5000 on ten ranks
// (docs/developer/scaling_model.md).
constexpr int64_t kMaxCentresTimesRanks = 50'000;

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

std::optional<std::string> advice_for_ranks(int64_t k, int ranks) {
  if (ranks == 1 || k * ranks <= kMaxCentresTimesRanks) return std::nullopt;
  return fmt::format(
      "k-means++ for k = {} makes {} ranks wait for each other {} times; init = k-means|| does so some dozen times (it "
      "begins with other prototypes, so that the answer is another one)",
      k, ranks, 4 * k);
}

const InitEntry& find_init(std::string_view name, int64_t, int64_t k, int64_t) {
  if (name == "auto") name = k <= kMaxSequentialCentres ? "k-means++" : "k-means||";
  std::string known = "auto";
  for (const InitEntry& entry : inits()) {
    if (entry.name == name) return entry;
    known += ", " + std::string(entry.name);
  }
  throw Error(ErrorCode::kUsage, "init", "there is no initialisation '" + std::string(name) + "'; known: " + known);
}

}  // namespace manymeans
