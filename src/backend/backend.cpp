#include "backend/backend.h"

#include <manymeans/error.h>

#include "backend/devices.h"
#include "backend/swap_scores.h"
#include "core/memory_space.h"

#include <algorithm>
#include <array>

namespace manymeans {

bool RowQueries::two_nearest(const Matrix&, const TakeTwoNearest&) {
  return false;
}

std::unique_ptr<SwapScores> Upload::swap_scores(int64_t) {
  return nullptr;
}

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

// Defined in backend/composite/, which uses everything here.
std::unique_ptr<Backend> make_composite_backend(std::string_view names, const BackendOptions& options);

bool names_several(std::string_view name) {
  return name.find(',') != std::string_view::npos || name.ends_with(":all");
}

void check_algorithm(std::string_view algorithm) {
  for (const char* known : {"auto", "matrix", "bounds", "kdtree", "brute"}) {
    if (algorithm == known) return;
  }
  throw Error(ErrorCode::kUsage, "algorithm",
              "there is no algorithm '" + std::string(algorithm) + "'; known: auto, matrix, bounds, kdtree, brute");
}

void Backend::bind_to_destroy() noexcept {
  try {
    bind_thread();
  } catch (const std::exception&) {  // the maker of the object has reported it
  }
}

std::unique_ptr<Backend> make_backend(std::string_view asked, const BackendOptions& given) {
  if (names_several(asked)) return make_composite_backend(asked, given);
  const auto [name, device] = split_name(asked);
  BackendOptions options = given;
  options.device = device.value_or(given.device);
  if (options.tuning.test_backend != nullptr) return options.tuning.test_backend(options);
  std::string known = "auto";
  for (const BackendEntry& entry : backends()) {
    if (name == "auto" || entry.name == name) return entry.make(options);
    known += ", " + std::string(entry.name);
  }
  throw Error(ErrorCode::kUsage, "backend", "there is no backend '" + std::string(name) + "'; known: " + known);
}

std::unique_ptr<Backend> make_backend(std::string_view asked, const PointsView& points, BackendOptions options) {
  if (!points.on_device()) return make_backend(asked, options);
  const MemorySpace& space = memory_space(points);
  if (names_several(asked)) {
    throw Error(ErrorCode::kUsage, "backend",
                "the points " + std::string(space.whereabouts()) + "; one backend reads them, and '" +
                    std::string(asked) + "' names several; use auto, or " + std::string(space.advice()));
  }
  const std::string_view name = split_name(asked).backend;
  const std::string reader(space.backend());
  const bool known = std::ranges::any_of(backends(), [&](const BackendEntry& entry) { return entry.name == name; });
  if (known && !space.serves(name)) {
    throw Error(ErrorCode::kUsage, "backend",
                "the points " + std::string(space.whereabouts()) + ", and the backend '" + std::string(name) +
                    "' cannot read them; use auto or " + reader + ", or " + std::string(space.advice()));
  }
  options.device = points.place.device;
  return make_backend(name == "auto" ? reader : name, options);
}

}  // namespace manymeans
