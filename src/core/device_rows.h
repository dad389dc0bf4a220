// Points in the memory of a CUDA device, for whoever reads them on the host. The cuda backend implements this; where it
// is not built, there are no such points, and all throw Error(kUnavailable).
#pragma once

#include <manymeans/points.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace manymeans {

/// Waits for the work in the points' stream. Throws Error(kUsage) where they do not lie on that device.
void await_device_points(const PointsView& points);

/// Copies bytes [first, first + count) of the values to `out`. May be called from several threads at once.
void fetch_device_bytes(const PointsView& points, size_t first, size_t count, void* out);

/// Copies these rows, one after the other, to `out`. May be called from several threads at once.
void fetch_device_rows(const PointsView& points, std::span<const int64_t> rows, void* out);

/// To be called once before values are read: host memory is ready as it is.
inline void await_points(const PointsView& points) {
  if (points.on_device()) await_device_points(points);
}

}  // namespace manymeans
