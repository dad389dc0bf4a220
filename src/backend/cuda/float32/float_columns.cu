// Norms of the points and columns of the prototypes, for the float32 screens.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/float32/frame_value.cuh"
#include "backend/cuda/runtime/device_memory.h"

#include <algorithm>
#include <cmath>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr double kUnit = 0x1p-24;
constexpr double kMaxNorm = 0x1p62;  // the square stays below 2^126, within float32

// A warp a row.
__global__ void norms_kernel(DevicePoints points, DeviceFrame frame, float* norms) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (row >= points.n) return;
  double sum = 0;
  for (int64_t j = threadIdx.x % 32; j < points.d; j += 32) {
    const double y = (load_double(points, row * points.d + j) - frame.centre[j]) * frame.scale;
    sum = fma(y, y, sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) norms[row] = __double2float_ru(sqrt(sum) * (1 + 0x1p-20) + 0x1p-70);
}

// A warp a column; blockIdx.y is the range.
__global__ void pack_kernel(FloatScreenTask task, int64_t group) {
  if (stopped(task.ranges) || (task.wanted != nullptr && *task.wanted == 0)) return;
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t k = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int64_t padded = (range.k + group - 1) / group * group;
  if (k >= padded) return;
  const int lane = threadIdx.x % 32;
  const FloatColumns& out = task.columns;
  const int64_t column = range.first + k;
  const int64_t d = task.points.d;
  float* values = out.values + column * out.value_stride;
  double sum = 0;
  for (int64_t j = lane; j < d; j += 32) {
    double z = 0;
    if (k < range.k) {
      z = (prototype_value(range, task.ranges.float64, k * d + j) - task.frame.centre[j]) * task.frame.scale;
    }
    sum = fma(z, z, sum);
    values[j] = fabs(z) < kMaxNorm ? __double2float_rn(z) : 0.0F;
  }
  sum = warp_sum(sum);
  if (lane != 0) return;
  const double norm = sqrt(sum) * (1 + 0x1p-20);
  const bool screenable = norm < kMaxNorm;  // false for NaN
  float start = kNeverWins;
  float slope = 0;
  float error_up = 0;
  if (k < range.k && screenable) {
    const double half = sum / 2;
    const double error = task.bound.half * half + task.bound.absolute;
    slope = __double2float_ru(task.bound.slope * norm);
    error_up = __double2float_ru(error);
    start = __double2float_ru(error - half);
  }
  if (!screenable) out.far[blockIdx.y] = 1;
  out.starts[column * out.stride] = start;
  out.slopes[column * out.stride] = slope;
  if (out.errors != nullptr) out.errors[column] = error_up;
}

}  // namespace

FloatBound FloatBound::make(int64_t d, int exponent, double scale) {
  const double gamma = roundings(d) / (1 - roundings(d));
  const double inflation = 1 + 0x1p-10 + 4 * gamma;  // pays for the roundings of the bounds themselves
  FloatBound bound;
  bound.canonical = (static_cast<double>(d) / 8 + 8) * 0x1p-52;
  // The place in the lowest two bits, of the score and of its bound (only points in registers have it).
  const double place = d <= kLowColumns ? 2 * 3 * 0x1p-23 * (1 + 0x1p-7) : 0;
  bound.slope = (2 * kUnit + gamma + place) * inflation * scale;
  bound.half = (gamma + 2 * kUnit + place + 2 * bound.canonical) * inflation * scale;
  bound.absolute = static_cast<double>(2 * d + 8) * 0x1p-84 * scale;
  bound.half_up = std::nextafterf(static_cast<float>(bound.half * (1 + 0x1p-8)), 1.0F);
  bound.absolute_up = std::nextafterf(static_cast<float>(bound.absolute * 2.125), 1.0F);
  bound.slack = std::nextafterf(static_cast<float>(2 * bound.canonical * inflation * scale), 1.0F);
  const double underflow = std::ldexp(static_cast<double>(d), 2 * std::min(exponent, 600) - 1073);
  bound.underflow = std::nextafterf(static_cast<float>(std::max(underflow, 0x1p-100)), HUGE_VALF);
  return bound;
}

int64_t low_column_floats(int64_t d) {
  return (d + 2 + 3) / 4 * 4;
}

void float_norms(const DevicePoints& points, const DeviceFrame& frame, float* norms, cudaStream_t stream) {
  const int64_t blocks = (points.n + kWarps - 1) / kWarps;
  norms_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(points, frame, norms);
  check_launch("measuring the points");
}

void float_pack(const FloatScreenTask& task, cudaStream_t stream) {
  const int64_t group = task.points.d <= kLowColumns ? kLowMultiple : kTileMultiple;
  const int64_t most = (task.ranges.max_clusters + group - 1) / group * group;
  const dim3 blocks(static_cast<unsigned>((most + kWarps - 1) / kWarps), static_cast<unsigned>(task.ranges.count));
  pack_kernel<<<blocks, kThreads, 0, stream>>>(task, group);
  check_launch("packing prototypes");
}

}  // namespace manymeans::cuda
