#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/queries/label_rows.h"
#include "backend/cuda/runtime/device_memory.h"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

// A block a row.
template <bool kFloats>
__global__ void __launch_bounds__(kThreads) label_kernel(DevicePoints points, PassRange range, SliceNearest* found) {
  __shared__ SliceNearest of_warps[kThreads / 32];
  const Nearest nearest =
      nearest_of<kFloats>(points, {range, false, static_cast<int64_t>(blockIdx.x), 0, range.k}, true, of_warps);
  if (threadIdx.x == 0) found[blockIdx.x] = nearest;
}

}  // namespace

void label_rows(const DevicePoints& points, const PassRange& range, SliceNearest* found, cudaStream_t stream) {
  const auto kernel = points.type == DataType::kFloat32 ? label_kernel<true> : label_kernel<false>;
  kernel<<<static_cast<unsigned>(points.n), kThreads, 0, stream>>>(points, range, found);
  check_launch("labelling rows");
}

}  // namespace manymeans::cuda
