// Access to points that do not lie row after row in the host's memory: sparse points and points on a device. The
// backend of a device registers its access (CMake: manymeans_register(memory_space ...)).
#pragma once

#include <manymeans/points.h>

#include "core/column_scan.h"
#include "core/moments.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace manymeans {

/// The memory of one kind of device, or one way in which values are kept. Points that its functions are given lie
/// there, as far as their owner says; but for await(), they were waited for. All may be called from several threads at
/// once.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  /// The backend that reads such points where they lie, and whether this one does, too.
  virtual std::string_view backend() const = 0;
  virtual bool serves(std::string_view name) const { return name == backend(); }
  /// Why others do not, and what to do.
  virtual std::string_view whereabouts() const { return "lie in the memory of a device"; }
  virtual std::string_view advice() const { return "copy them to the host's memory"; }
  /// The device in whose memory this address lies; -1: in another memory.
  virtual int device_of(const void* address) const = 0;
  /// Waits for the work in the points' queue. Throws Error(kUsage) where they do not lie on that device.
  virtual void await(const PointsView& points) const = 0;
  /// Does await() after the queue was waited for: a second wait is not required.
  virtual void check(const PointsView& points) const { await(points); }
  /// Copies bytes [first, first + count) of the values to `out`.
  virtual void fetch_bytes(const PointsView& points, size_t first, size_t count, void* out) const = 0;
  /// Copies these rows, one after the other, to `out`.
  virtual void fetch_rows(const PointsView& points, std::span<const int64_t> rows, void* out) const = 0;
  /// The bytes of rows that gather() may copy; 0: it copies none.
  virtual int64_t gather_bytes(const PointsView& /*points*/) const { return 0; }
  /// Copies these rows, one after the other, to memory of the same device. `copy` becomes a view of them, which lives
  /// as long as what is returned.
  virtual std::shared_ptr<const void> gather(const PointsView& points, std::span<const int64_t> rows,
                                             PointsView& copy) const;
  /// Copies `count` bytes to the room, from its byte `first` on.
  virtual void store_bytes(const ResultRoom& room, size_t first, size_t count, const void* from) const;
  /// Scans columns as data/input.cpp does, on the device. Weights w', or none, lie in the host's memory.
  virtual DeviceScan scan_columns(const PointsView& points, std::span<const double> weights) const = 0;
  virtual std::vector<MomentSums> sum_moments(const PointsView& points,
                                              std::span<const MomentFormats> formats) const = 0;
};

/// One line of the registry.
struct MemorySpaceEntry {
  std::string_view name;
  const MemorySpace& (*find)();
};
std::span<const MemorySpaceEntry> memory_spaces();

/// Returns the memory space of points on a device. Throws Error(kUnavailable) where this build has none of that name.
const MemorySpace& memory_space(const PointsView& points);

/// Waits for the work in the queue of a room of `count` values. Throws Error(kUsage) where it does not lie there.
void await_room(const ResultRoom& room, int64_t count, DataType type);
/// Copies bytes to a room that was waited for.
void store_bytes(const ResultRoom& room, size_t first, size_t count, const void* from);
/// Writes labels as int32 to a room that was waited for.
void store_labels(const ResultRoom& room, const Labels& labels);

/// To be called once before values are read: host memory is ready as it is.
inline void await_points(const PointsView& points) {
  if (points.on_device()) memory_space(points).await(points);
}

}  // namespace manymeans
