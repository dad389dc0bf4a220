#include "backend/cuda/points/copied_points.h"

#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/device/row_slices.h"
#include "core/threads.h"

namespace manymeans::cuda {
namespace {

// The time that a copy may take over a slow link.
Patience patience_for(size_t bytes, const BackendOptions& options) {
  constexpr double kLink = 1e9;  // bytes a second
  return {Patience::Seconds(static_cast<double>(bytes) / kLink), min_patience(), options.abort, options.cancel};
}

}  // namespace

CudaCopiedPoints::CudaCopiedPoints(const PointsView& points, int device, const BackendOptions& options)
    : values_(points.bytes(), "the points"), view_(points) {
  const Stream stream(patience_for(points.bytes(), options));
  device::upload_points(runtime(), address_of(values_.data()),
                        {static_cast<const std::byte*>(points.data), points.bytes()},
                        {thread_count(options.threads), options.abort}, stream);
  stream.synchronize("uploading the points");
  view_.data = values_.data();
  view_.place = {"cuda", device, nullptr};
}

// The host looks at few points while they are in its caches. With half of the room or more, everything else may not fit
// next to the points; then the host keeps them.
bool CudaCopiedPoints::pays(const PointsView& points, int64_t room) {
  constexpr size_t kMinBytes = size_t{16} << 20;
  if (points.on_device() || points.n < 1 || points.d < 1) return false;
  return points.bytes() >= kMinBytes && static_cast<int64_t>(points.bytes()) < room / 2;
}

}  // namespace manymeans::cuda
