#include "core/memory_space.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
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

std::shared_ptr<const void> MemorySpace::gather(const PointsView& points, std::span<const int64_t>, PointsView&) const {
  throw Error(ErrorCode::kInternal, "points", fmt::format("rows of the kind '{}' have no copy", points.place.space));
}

void MemorySpace::store_bytes(const ResultRoom& room, size_t, size_t, const void*) const {
  throw Error(ErrorCode::kUsage, "room", fmt::format("results cannot be written to the kind '{}'", room.place.space));
}

void await_room(const ResultRoom& room, int64_t count, DataType type) {
  PointsView values(room.data, count, 1, type);
  values.place = room.place;
  await_points(values);
}

void store_bytes(const ResultRoom& room, size_t first, size_t count, const void* from) {
  if (room.place.on_host()) {
    std::memcpy(static_cast<std::byte*>(room.data) + first, from, count);
    return;
  }
  PointsView bytes(room.data, static_cast<int64_t>(count), 1, DataType::kUInt8);
  bytes.place = room.place;
  memory_space(bytes).store_bytes(room, first, count, from);
}

void store_labels(const ResultRoom& room, const Labels& labels) {
  constexpr int64_t kBlock = int64_t{1} << 20;
  std::vector<uint32_t> block(static_cast<size_t>(std::min(kBlock, labels.size())));
  for (int64_t first = 0; first < labels.size(); first += kBlock) {
    const int64_t count = std::min(kBlock, labels.size() - first);
    labels.read(first, count, block.data());
    store_bytes(room, static_cast<size_t>(first) * sizeof(uint32_t), static_cast<size_t>(count) * sizeof(uint32_t),
                block.data());
  }
}

MemoryPlace place_of(const void* address) {
  for (const MemorySpaceEntry& entry : memory_spaces()) {
    const int device = entry.find().device_of(address);
    if (device >= 0) return {entry.name, device};
  }
  return {};
}

}  // namespace manymeans
