// A model's rows: the two nearest centroids of each, orders of the rows, and what removing a centroid costs. Sums are
// added up in the contract's order, one chain of additions a thread; what goes into them is computed by all threads.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/queries/swap_order.h"
#include "backend/cuda/queries/swap_sums.cuh"
#include "backend/cuda/queries/swap_tasks.h"
#include "backend/cuda/queries/swap_tile.cuh"
#include "backend/cuda/runtime/launch.h"

#include <cub/device/device_radix_sort.cuh>

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) number_kernel(uint32_t* numbers, int64_t n) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < n; i += stride) {
    numbers[i] = static_cast<uint32_t>(i);
  }
}

// The first two of all threads that have the same row: 16 neighbouring ones.
__device__ FirstTwo of_all_columns(FirstTwo best) {
#pragma unroll
  for (int step = kSwapSide / 2; step > 0; step /= 2) {
    Ranked first{}, second{};
    first.value = __shfl_xor_sync(~0U, best.first.value, step);
    first.number = __shfl_xor_sync(~0U, best.first.number, step);
    second.value = __shfl_xor_sync(~0U, best.second.value, step);
    second.number = __shfl_xor_sync(~0U, best.second.number, step);
    best.look_at(first);
    best.look_at(second);
  }
  return best;
}

// Returns the least number above an upper bound of the row's second least distance. A distance that large cannot be
// among the first two, whatever its number. Returns NaN for infinity: no distance is >= NaN.
__device__ double limit_of(double second) {
#pragma unroll
  for (int step = kSwapSide / 2; step > 0; step /= 2) second = fmin(second, __shfl_xor_sync(~0U, second, step));
  return __longlong_as_double(__double_as_longlong(second) + 1);
}

// A block has 64 rows.
template <class T>
__global__ void __launch_bounds__(kSwapThreads, 2) nearest_kernel(SwapModel model) {
  __shared__ SwapTileMemory memory;
  const DevicePoints& points = model.points;
  const int64_t first_row = blockIdx.x * int64_t{kSwapTile};
  const double infinity = __longlong_as_double(0x7ff0000000000000);
  FirstTwo best[kSwapEach];
  double limits[kSwapEach];
#pragma unroll
  for (int r = 0; r < kSwapEach; ++r) {
    best[r] = {{infinity, ~0U}, {infinity, ~0U}};
    limits[r] = limit_of(infinity);
  }
  const int t = static_cast<int>(threadIdx.x);
  if (t < kSwapTile) memory.row_numbers[t] = static_cast<uint32_t>(min(first_row + t, points.n - 1));
  for (int32_t c = 0; c < model.k; c += kSwapTile) {
    const int count = min(kSwapTile, model.k - c);
    if (t < kSwapTile) memory.centre_numbers[t] = static_cast<uint32_t>(c + t);
    __syncthreads();
    const SwapTile<T> tile{memory, static_cast<const T*>(points.data), model.centroids, points.d, count};
    double e[kSwapEach][kSwapEach];
    if (!tile.distances(limits, e)) continue;
#pragma unroll
    for (int r = 0; r < kSwapEach; ++r) {
#pragma unroll
      for (int i = 0; i < kSwapEach; ++i) {
        const int centre = tile.x() + kSwapSide * i;
        if (centre < count) best[r].look_at({e[r][i], static_cast<uint32_t>(c + centre)});
      }
      limits[r] = limit_of(best[r].second.value);
    }
  }
#pragma unroll
  for (int r = 0; r < kSwapEach; ++r) {
    const FirstTwo two = of_all_columns(best[r]);
    const int64_t row = first_row + SwapTile<T>::y() + kSwapSide * r;
    if (SwapTile<T>::x() != 0 || row >= points.n) continue;
    model.nearest[row] = two.first.number;
    model.second[row] = two.second.number;
    model.least[row] = two.first.value;
    model.second_least[row] = two.second.value;
    model.products[row] = __dmul_rn(weight_of(points, row), two.first.value);
    model.keys[row] = static_cast<uint64_t>(two.first.number) << model.key_bits | two.second.number;
  }
}

__device__ uint32_t cluster_at(const SwapModel& model, int64_t place) {
  return model.nearest[model.by_cluster[place]];
}

// Where each cluster's rows begin, and each pair's.
__global__ void __launch_bounds__(kThreads) begin_kernel(SwapModel model) {
  const int64_t n = model.points.n;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x; i < n; i += stride) {
    const int64_t here = cluster_at(model, i);
    for (int64_t c = i == 0 ? 0 : int64_t{cluster_at(model, i - 1)} + 1; c <= here; ++c) {
      model.first[c] = static_cast<uint32_t>(i);
    }
    if (i == n - 1) {
      for (int64_t c = here + 1; c <= model.k; ++c) model.first[c] = static_cast<uint32_t>(n);
    }
    if (i == 0 || model.sorted_keys[i] != model.sorted_keys[i - 1]) {
      model.pairs[atomicAdd(model.pair_count, 1U)] = static_cast<uint32_t>(i);
    }
  }
}

constexpr int kScanThreads = 1024;

// The tiles before each cluster. One block, of whose threads each has neighbouring clusters.
__global__ void __launch_bounds__(kScanThreads) tiles_kernel(SwapModel model) {
  __shared__ uint32_t of_warp[32];
  const int64_t each = (model.k + kScanThreads - 1) / kScanThreads;
  const int64_t begin = min(static_cast<int64_t>(threadIdx.x) * each, static_cast<int64_t>(model.k));
  const int64_t end = min(begin + each, static_cast<int64_t>(model.k));
  const auto tiles_of = [&](int64_t c) { return (model.first[c + 1] - model.first[c] + kSwapTile - 1) / kSwapTile; };
  uint32_t mine = 0;
  for (int64_t c = begin; c < end; ++c) mine += tiles_of(c);
  const uint32_t inclusive = warp_inclusive_sum(mine);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane == 31) of_warp[warp] = inclusive;
  __syncthreads();
  if (warp == 0) of_warp[lane] = warp_inclusive_sum(of_warp[lane]);
  __syncthreads();
  uint32_t before = (warp == 0 ? 0 : of_warp[warp - 1]) + inclusive - mine;
  for (int64_t c = begin; c < end; ++c) {
    model.first_tile[c] = before;
    before += tiles_of(c);
  }
  if (threadIdx.x == kScanThreads - 1) model.first_tile[model.k] = before;
}

// The terms that a row adds to the sums of its cluster.
struct ClusterTerm {
  double cost, weight, reach;
};

template <bool kBonus>
__device__ ClusterTerm term_of(const SwapModel& model, uint32_t row) {
  if constexpr (kBonus) {
    return {model.bonuses[row], 0, 0};
  } else {
    const double least = model.least[row];
    const double second = model.second_least[row];
    const double weight = weight_of(model.points, row);
    return {__dmul_rn(weight, __dsub_rn(second, least)), weight, __dadd_rn(__dsqrt_rn(least), __dsqrt_rn(second))};
  }
}

// A block has a cluster; its last warp adds up while the others fetch the next rows.
template <bool kBonus>
__global__ void __launch_bounds__(kThreads + 32) cluster_kernel(SwapModel model) {
  __shared__ double terms[2][2][kThreads];  // costs and weights
  __shared__ double reaches[kThreads / 32];
  const uint32_t begin = model.first[blockIdx.x];
  const uint32_t end = model.first[blockIdx.x + 1];
  const int t = static_cast<int>(threadIdx.x);
  const bool adds = t >= kThreads;
  const int chain = (t - kThreads) & 1;
  double sum = 0;
  double reach = 0;
  for (uint32_t first = begin, round = 0; first < end + kThreads; first += kThreads, ++round) {
    if (!adds && first + t < end) {
      const ClusterTerm term = term_of<kBonus>(model, model.by_cluster[first + t]);
      terms[round & 1][0][t] = term.cost;
      terms[round & 1][1][t] = term.weight;
      reach = fmax(reach, term.reach);
    }
    if (adds && round > 0) {
      const int count = static_cast<int>(min(end - (first - kThreads), static_cast<uint32_t>(kThreads)));
      sum = add_in_order(sum, terms[(round - 1) & 1][chain], count);
    }
    __syncthreads();
  }
  if constexpr (kBonus) {
    if (t == kThreads) model.costs[blockIdx.x] = __dsub_rn(model.raw_costs[blockIdx.x], sum);
  } else {
    if (t == kThreads) model.raw_costs[blockIdx.x] = sum;
    if (t == kThreads + 1) model.weights[blockIdx.x] = sum;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) reach = fmax(reach, __shfl_xor_sync(~0U, reach, step));
    if (!adds && t % 32 == 0) reaches[t / 32] = reach;
    __syncthreads();
    if (t != 0) return;
    for (const double other : reaches) reach = fmax(reach, other);
    model.reaches[blockIdx.x] = reach;
  }
}

constexpr int kPairThreads = 128;
constexpr int kPairRows = 64;
constexpr int kPairColumns = 32;

struct PairMemory {
  double terms[kPairRows][kPairColumns + 1];
  double weights[kPairRows];
  uint32_t rows[kPairRows];
  double weight;
};

// The next rows of a pair; how many there are.
__device__ int list_pair(const SwapModel& model, uint64_t key, int64_t first, PairMemory& memory) {
  const int t = static_cast<int>(threadIdx.x);
  const bool mine = t < kPairRows && first + t < model.points.n && model.sorted_keys[first + t] == key;
  if (mine) {
    memory.rows[t] = model.by_pair[first + t];
    memory.weights[t] = weight_of(model.points, memory.rows[t]);
  }
  return __syncthreads_count(static_cast<int>(mine));
}

// Adds them to the sums of each column; the last thread adds their weights.
__device__ void add_pair(const SwapModel& model, uint32_t other, int count, PairMemory& memory, double* sums) {
  const int64_t d = model.points.d;
  const int t = static_cast<int>(threadIdx.x);
  if (t == kPairThreads - 1) memory.weight = add_in_order(memory.weight, memory.weights, count);
  for (int64_t j = 0; j < d; j += kPairColumns) {
    for (int i = t; i < count * kPairColumns; i += kPairThreads) {
      const int row = i / kPairColumns, column = i % kPairColumns;
      if (j + column >= d) continue;
      const double x = load_double(model.points, memory.rows[row] * d + j + column);
      const double c = model.centroids[other * d + j + column];
      memory.terms[row][column] = __dmul_rn(memory.weights[row], __dsub_rn(x, c));
    }
    __syncthreads();
    if (t < kPairColumns && j + t < d) {
      double sum = sums[j + t];
#pragma unroll 8
      for (int row = 0; row < count; ++row) sum = __dadd_rn(sum, memory.terms[row][t]);
      sums[j + t] = sum;
    }
    __syncthreads();
  }
}

// A block has a pair of clusters at a time: the rows of the one whose second nearest is the other.
__global__ void __launch_bounds__(kPairThreads) pair_kernel(SwapModel model) {
  extern __shared__ double sums[];  // of each column
  __shared__ PairMemory memory;
  const int64_t d = model.points.d;
  const uint32_t count = *model.pair_count;
  for (uint32_t p = blockIdx.x; p < count; p += gridDim.x) {
    const uint32_t first = model.pairs[p];
    const uint64_t key = model.sorted_keys[first];
    const auto other = static_cast<uint32_t>(key & ((uint64_t{1} << model.key_bits) - 1));
    for (int64_t j = threadIdx.x; j < d; j += kPairThreads) sums[j] = 0;
    if (threadIdx.x == 0) memory.weight = 0;
    __syncthreads();
    for (int64_t at = first;; at += kPairRows) {
      const int rows = list_pair(model, key, at, memory);
      add_pair(model, other, rows, memory, sums);
      if (rows < kPairRows) break;
    }
    for (int64_t j = threadIdx.x; j < d; j += kPairThreads) sums[j] = __dmul_rn(sums[j], sums[j]);
    __syncthreads();
    if (threadIdx.x == 0 && memory.weight > 0) {
      const double square = add_in_order(0, sums, static_cast<int>(d));
      model.bonuses[model.by_pair[first]] = __ddiv_rn(square, __dadd_rn(model.weights[other], memory.weight));
    }
    __syncthreads();
  }
}

void sort_rows(const SwapModel& model, uint32_t* to, int first_bit, int last_bit, cudaStream_t stream) {
  size_t bytes = model.scratch_bytes;
  const uint64_t* keys = model.keys;
  check(cub::DeviceRadixSort::SortPairs(model.scratch, bytes, keys, model.sorted_keys, model.numbers, to,
                                        static_cast<int>(model.points.n), first_bit, last_bit, stream),
        "sorting rows by cluster");
}

}  // namespace

size_t swap_scratch_bytes(int64_t n) {
  size_t bytes = 0;
  const uint64_t* keys = nullptr;
  const uint32_t* values = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, static_cast<uint64_t*>(nullptr), values,
                                        static_cast<uint32_t*>(nullptr), static_cast<int>(n), 0, 64),
        "sorting rows by cluster");
  return bytes;
}

void number_rows(uint32_t* numbers, int64_t n, cudaStream_t stream) {
  number_kernel<<<grid_for(n, kThreads), kThreads, 0, stream>>>(numbers, n);
  check_launch("numbering rows");
}

void find_two_nearest(const SwapModel& model, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((model.points.n + kSwapTile - 1) / kSwapTile);
  dispatch_type(model.points.type,
                [&](auto type) { nearest_kernel<decltype(type)><<<blocks, kSwapThreads, 0, stream>>>(model); });
  check_launch("finding the two nearest centroids");
}

void find_removal_costs(const SwapModel& model, cudaStream_t stream) {
  const auto n = static_cast<size_t>(model.points.n);
  const auto clusters = static_cast<unsigned>(model.k);
  sort_rows(model, model.by_cluster, model.key_bits, 2 * model.key_bits, stream);
  sort_rows(model, model.by_pair, 0, 2 * model.key_bits, stream);
  fill_zero(model.pair_count, 1, stream, "clearing a counter");
  fill_zero(model.bonuses, n, stream, "clearing what updates gain");
  begin_kernel<<<grid_for(model.points.n, kThreads), kThreads, 0, stream>>>(model);
  check_launch("finding the clusters' rows");
  tiles_kernel<<<1, kScanThreads, 0, stream>>>(model);
  check_launch("finding the clusters' rows");
  cluster_kernel<false><<<clusters, kThreads + 32, 0, stream>>>(model);
  check_launch("adding up clusters");
  const size_t shared = static_cast<size_t>(model.points.d) * sizeof(double);
  pair_kernel<<<grid_for(model.points.n * kPairThreads, kPairThreads), kPairThreads, shared, stream>>>(model);
  check_launch("adding up pairs of clusters");
  cluster_kernel<true><<<clusters, kThreads + 32, 0, stream>>>(model);
  check_launch("adding up clusters");
}

}  // namespace manymeans::cuda
