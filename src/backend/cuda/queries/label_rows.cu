#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/queries/label_rows.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"

#include <type_traits>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

// d2 of kRows rows from of.row on and prototype of.first + lane, by 8 neighbouring threads. A prototype's value is
// loaded and widened once for all rows: these take longer than the arithmetic. Offsets have 32 bits: a labeller answers
// for less than 2^31 values.
template <bool kFloats, int kRows>
__device__ __forceinline__ void distances_of_rows(const DevicePoints& points, const RowOfEight& of, int lane,
                                                  double (&d2)[kRows]) {
  using X = std::conditional_t<kFloats, float, double>;
  const auto d = static_cast<int>(points.d);
  const int64_t row = of.row * d;
  const int64_t begin = min(of.first, of.end - 1);
  const float* prototypes = static_cast<const float*>(of.range.prototypes) + begin * d;
  const auto last_row = static_cast<int>(min(points.n - of.row, int64_t{kRows})) - 1;
  const auto last_prototype = static_cast<int>(min(of.end - begin, int64_t{kLanes})) - 1;
  double p[kRows][kLanes] = {};
  X x[kRows], next_x[kRows];
  float c[kLanes], next_c[kLanes];
  const auto load = [&](int j, X(&xs)[kRows], float(&cs)[kLanes]) {
    const bool there = j < d;  // beyond the last column + 0
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int at = min(r, last_row) * d + j;
      if constexpr (kFloats) {
        xs[r] = there ? static_cast<const float*>(points.data)[row + at] : 0;
      } else {
        xs[r] = there ? load_double(points, row + at) : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < kLanes; ++i) cs[i] = there ? prototypes[min(i, last_prototype) * d + j] : 0;
  };
  load(lane, x, c);
  for (int first = 0; first < d; first += kLanes) {
    load(first + kLanes + lane, next_x, next_c);  // under way while these are added up
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const double centre = widened(c[i]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) p[r][i] = squared_step(widened(x[r]), centre, p[r][i]);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) x[r] = next_x[r];
#pragma unroll
    for (int i = 0; i < kLanes; ++i) c[i] = next_c[i];
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) d2[r] = fold_eight_each(p[r], lane);
}

// A block for kRows rows.
template <bool kFloats, int kRows>
__global__ void __launch_bounds__(kThreads, kRows == 1 ? 4 : 2)
    label_kernel(DevicePoints points, PassRange range, LabelledRows out) {
  __shared__ SliceNearest of_warps[kRows][kThreads / 32];
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRows;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  Nearest mine[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) mine[r] = {INFINITY, range.k};
  for (int64_t first = threadIdx.x / kLanes * kLanes; first < (range.k + 31) / 32 * 32; first += kThreads) {
    double d2[kRows];
    distances_of_rows<kFloats, kRows>(points, {range, false, row, first, range.k}, lane, d2);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (first + lane < range.k) mine[r].take(d2[r], first + lane);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    mine[r] = warp_nearest(mine[r]);
    if (threadIdx.x % 32 == 0) of_warps[r][threadIdx.x / 32] = mine[r];
  }
  __syncthreads();
  const int64_t at = row + threadIdx.x;
  if (threadIdx.x >= kRows || at >= points.n) return;
  Nearest nearest{INFINITY, range.k};
  for (const SliceNearest& other : of_warps[threadIdx.x]) nearest.take(other.distance, other.k);
  if (out.found != nullptr) {
    out.found[at] = nearest;
    return;
  }
  out.labels[at] = static_cast<int32_t>(nearest.k);
  if (nearest.k == range.k || !(nearest.distance < INFINITY)) *out.refused = 1;
}

template <int kRows>
void launch(const DevicePoints& points, const PassRange& range, const LabelledRows& out, cudaStream_t stream) {
  const auto kernel = points.type == DataType::kFloat32 ? label_kernel<true, kRows> : label_kernel<false, kRows>;
  kernel<<<static_cast<unsigned>((points.n + kRows - 1) / kRows), kThreads, 0, stream>>>(points, range, out);
  check_launch("labelling rows");
}

}  // namespace

void label_rows(const DevicePoints& points, const PassRange& range, const LabelledRows& out, cudaStream_t stream) {
  constexpr int kTogether = 4;
  if (points.n >= 2 * kTogether * multiprocessors_here() / 3) return launch<kTogether>(points, range, out, stream);
  launch<1>(points, range, out, stream);
}

}  // namespace manymeans::cuda
