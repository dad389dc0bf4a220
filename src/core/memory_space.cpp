#include "core/memory_space.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include <string>

namespace manymeans {

// The spaces are declared and then listed from the same generated lines.
#define MANYMEANS_REGISTER(name, find) const MemorySpace& find();
#include "registry/memory_space.inc"
#undef MANYMEANS_REGISTER

std::span<const MemorySpaceEntry> memory_spaces() {
#define MANYMEANS_REGISTER(name, find) MemorySpaceEntry{name, find},
  static const auto& kEntries = *new std::vector<MemorySpaceEntry>{
  // never destroyed
#include "registry/memory_space.inc"
  };
#undef MANYMEANS_REGISTER
  return kEntries;
}

const MemorySpace& memory_space(const PointsView& points) {
  for (const MemorySpaceEntry& entry : memory_spaces()) {
    if (entry.name == points.place.space) return entry.find();
  }
  throw Error(
      ErrorCode::kUnavailable, "points",
      "they lie in the memory of a device of the kind '" + std::string(points.place.space) +
          "', which this build cannot read (cuda: CMake option MANYMEANS_CUDA); copy them to the host's memory");
}

MemoryPlace place_of(const void* address) {
  for (const MemorySpaceEntry& entry : memory_spaces()) {
    const int device = entry.find().device_of(address);
    if (device >= 0) return {entry.name, device};
  }
  return {};
}

}  // namespace manymeans
