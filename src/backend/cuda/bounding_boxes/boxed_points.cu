// Sorts points into boxes: by the first column, then each run by the second, and so on. A Hilbert curve would need
// columns cut into cells that one far value spoils. A kd-tree would need a sort for each of its levels, and its boxes
// are no better. With a million points, two columns and ten prototypes both leave 7 % of the boxes to two.
#include "backend/cuda/bounding_boxes/boxed_points.h"
#include "backend/cuda/device/limbs.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/runtime/launch.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>
#include <cmath>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

// Numbers in the order of their bits, negative ones too.
__device__ uint32_t ordered_bits(float v) {
  const uint32_t bits = __float_as_uint(v);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// The run of column `column` in which a place lies.
__host__ __device__ inline uint64_t run_of(const BoxRuns& runs, int column, int64_t place) {
  uint64_t run = 0;
  for (int j = 1; j <= column; ++j) {
    const int64_t parts = (runs.rows[j - 1] + runs.rows[j] - 1) / runs.rows[j];
    run = run * static_cast<uint64_t>(parts) + static_cast<uint64_t>(place / runs.rows[j]);
    place %= runs.rows[j];
  }
  return run;
}

// Keys of the places: the run, which is kept, then the column's value. Values rounded to float32 are good enough.
__global__ void __launch_bounds__(kThreads)
    key_kernel(DevicePoints points, BoxRuns runs, int column, uint64_t* keys, uint32_t* order) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t place = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; place < points.n; place += stride) {
    if (column == 0) order[place] = static_cast<uint32_t>(place);
    const int64_t row = column == 0 ? place : order[place];
    const float v = __double2float_rn(load_double(points, row * points.d + column));
    keys[place] = run_of(runs, column, place) << 32 | ordered_bits(v);
  }
}

// A thread a place. T is what points are kept in: every narrower type widens exactly to float.
template <class T>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(DevicePoints points, const uint32_t* order, int64_t places, T* values, double* weights) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t place = blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x; place < places; place += stride) {
    const int64_t row = order[min(place, points.n - 1)];
    for (int64_t j = 0; j < points.d; ++j) {
      values[place * points.d + j] = static_cast<T>(load_double(points, row * points.d + j));
    }
    if (weights != nullptr) weights[place] = points.weights[row];
  }
}

// A warp a box. The factors cover the roundings.
template <class T>
__global__ void __launch_bounds__(kThreads) box_kernel(const T* values, int64_t d, int64_t count, double* boxes) {
  const int64_t box = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (box >= count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  double squares = 0;
  for (int64_t j = 0; j < d; ++j) {
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t i = lane; i < kBoxRows; i += 32) {
      const auto v = static_cast<double>(values[(box * kBoxRows + i) * d + j]);
      low = fmin(low, v);
      high = fmax(high, v);
    }
    for (int step = 16; step > 0; step /= 2) {
      low = fmin(low, __shfl_xor_sync(~0U, low, step));
      high = fmax(high, __shfl_xor_sync(~0U, high, step));
    }
    const double middle = low + (high - low) / 2;
    const double half = fmax(high - middle, middle - low) * (1 + 0x1p-51);
    squares += half * half;
    if (lane == 0) {
      boxes[j * count + box] = middle;
      boxes[(d + j) * count + box] = half;
    }
  }
  if (lane == 0) boxes[2 * d * count + box] = squares * (1 + 0x1p-40);
}

// A warp a box: the terms of its rows, and their integer weights.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(BoxedRows rows, ColumnTerms terms, int weight_shift, int64_t* sums) {
  const int64_t box = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (box >= rows.count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t end = min(rows.n, (box + 1) * kBoxRows);
  int64_t weight = 0;
  for (int64_t place = box * kBoxRows + lane; place < end; place += 32) {
    weight += integer_weight(rows.weights, weight_shift, place);
  }
  weight = warp_sum(weight);
  if (lane == 0) sums[terms.limbs * rows.d * rows.count + box] = weight;
  for (int64_t j = 0; j < rows.d; ++j) {
    const double top = top_of(terms, j);
    int64_t parts[kMaxLimbs] = {};
    for (int64_t place = box * kBoxRows + lane; place < end; place += 32) {
      auto v = static_cast<double>(static_cast<const T*>(rows.values)[place * rows.d + j]);
      if (rows.weights != nullptr) v = __dmul_rn(rows.weights[place], v);
      split_term<0>(terms, scaled_term(terms, v, top, j), [&](int g, int64_t part) { parts[g] += part; });
    }
    for (int g = 0; g < terms.limbs; ++g) {
      const int64_t sum = warp_sum(parts[g]);
      if (lane == 0) sums[(g * rows.d + j) * rows.count + box] = sum;
    }
  }
}

// Blocks with a warp for each box.
unsigned blocks_of(const BoxedRows& rows) {
  return static_cast<unsigned>((rows.count + kThreads / 32 - 1) / (kThreads / 32));
}

template <class T>
void gather(const DevicePoints& points, const BoxedRows& rows, const BoxArrays& arrays, cudaStream_t stream) {
  const int64_t places = rows.count * kBoxRows;
  auto* const values = static_cast<T*>(arrays.values);
  gather_kernel<T>
      <<<grid_for(places, kThreads), kThreads, 0, stream>>>(points, rows.order, places, values, arrays.weights);
  check_launch("putting points in order");
  box_kernel<T><<<blocks_of(rows), kThreads, 0, stream>>>(values, rows.d, rows.count, arrays.boxes);
  check_launch("putting points into boxes");
}

}  // namespace

BoxRuns BoxRuns::make(int64_t n, int64_t d) {
  BoxRuns runs;
  runs.rows[0] = boxes_of(n) * kBoxRows;
  for (int64_t j = 1; j < d; ++j) {
    const int64_t boxes = runs.rows[j - 1] / kBoxRows;
    const auto parts = std::lround(std::pow(static_cast<double>(boxes), 1.0 / static_cast<double>(d - j + 1)));
    runs.rows[j] = (boxes + parts - 1) / parts * kBoxRows;
  }
  return runs;
}

void sort_points(const DevicePoints& points, DeviceBuffer<uint32_t>& order, const Stream& stream) {
  const auto n = static_cast<size_t>(points.n);
  DeviceBuffer<uint64_t> keys(n, "sorting points"), other_keys(n, "sorting points");
  DeviceBuffer<uint32_t> other_order(n, "sorting points");
  cub::DoubleBuffer<uint64_t> key(keys.data(), other_keys.data());
  cub::DoubleBuffer<uint32_t> value(order.data(), other_order.data());
  const BoxRuns runs = BoxRuns::make(points.n, points.d);
  size_t scratch_bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, scratch_bytes, key, value, points.n, 0, 64, stream), "sorting points");
  DeviceBuffer<std::byte> scratch(scratch_bytes, "sorting points");
  const Settled settled(stream);
  for (int column = 0; column < points.d; ++column) {
    key_kernel<<<grid_for(points.n, kThreads), kThreads, 0, stream>>>(points, runs, column, key.Current(),
                                                                      value.Current());
    check_launch("sorting points");
    const int bits = 32 + std::bit_width(run_of(runs, column, points.n - 1));
    check(cub::DeviceRadixSort::SortPairs(scratch.data(), scratch_bytes, key, value, points.n, 0, bits, stream),
          "sorting points");
  }
  stream.synchronize("sorting points");
  if (value.Current() != order.data()) std::swap(order, other_order);
}

void fill_boxes(const DevicePoints& points, const BoxedRows& rows, const BoxArrays& arrays, cudaStream_t stream) {
  if (rows.float64) return gather<double>(points, rows, arrays, stream);
  gather<float>(points, rows, arrays, stream);
}

void add_up_boxes(const BoxedRows& rows, const ColumnTerms& terms, int weight_shift, int64_t* sums,
                  cudaStream_t stream) {
  const auto kernel = rows.float64 ? sum_kernel<double> : sum_kernel<float>;
  kernel<<<blocks_of(rows), kThreads, 0, stream>>>(rows, terms, weight_shift, sums);
  check_launch("adding up boxes");
}

}  // namespace manymeans::cuda
