#include "backend/backend.h"

#include <manymeans/error.h>

#include <array>

namespace manymeans {

// Makers are declared and then listed from the same generated lines.
#define MANYMEANS_REGISTER(name, maker) std::unique_ptr<Backend> maker(const BackendOptions&);
#include "registry/backend.inc"
#undef MANYMEANS_REGISTER

std::span<const BackendEntry> backends() {
#define MANYMEANS_REGISTER(name, maker) BackendEntry{name, maker},
  static const std::array kEntries = {
#include "registry/backend.inc"
  };
#undef MANYMEANS_REGISTER
  return kEntries;
}

std::span<const double> Session::seed_least(int) const {
  throw Error(ErrorCode::kInternal, "backend", "this backend does not count equal rows");
}

std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options) {
  std::string known = "auto";
  for (const BackendEntry& entry : backends()) {
    if (name == "auto" || entry.name == name) return entry.make(options);
    known += ", " + std::string(entry.name);
  }
  throw Error(ErrorCode::kUsage, "backend", "there is no backend '" + std::string(name) + "'; known: " + known);
}

}  // namespace manymeans
