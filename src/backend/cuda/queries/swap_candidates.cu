// The swaps of some candidates. Kernels find the clusters that each reaches, the rows nearer to it than to their second
// nearest centroid, and the resulting change. Tiles of rows and candidates find and mark the rows. Then a block goes
// through a candidate's marks in the contract's order.
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/device/point_value.cuh"
#include "backend/cuda/queries/swap_order.h"
#include "backend/cuda/queries/swap_sums.cuh"
#include "backend/cuda/queries/swap_tasks.h"
#include "backend/cuda/queries/swap_tile.cuh"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/launch.h"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) point_kernel(DevicePoints points, SwapCandidates candidates) {
  const uint32_t row = candidates.rows[blockIdx.x];
  for (int64_t j = threadIdx.x; j < points.d; j += kThreads) {
    candidates.points[blockIdx.x * points.d + j] = load_double(points, row * points.d + j);
  }
}

// blockIdx.x: 64 centroids, blockIdx.y: 64 candidates.
__global__ void __launch_bounds__(kSwapThreads, 2) reach_kernel(SwapModel model, SwapCandidates candidates) {
  __shared__ SwapTileMemory memory;
  const int t = static_cast<int>(threadIdx.x);
  const auto first_cluster = static_cast<int32_t>(blockIdx.x * kSwapTile);
  const auto first = static_cast<int32_t>(blockIdx.y * kSwapTile);
  if (t < kSwapTile) {
    memory.row_numbers[t] = static_cast<uint32_t>(min(first_cluster + t, model.k - 1));
    memory.centre_numbers[t] = static_cast<uint32_t>(first + t);
  }
  __syncthreads();
  const int count = min(kSwapTile, candidates.count - first);
  const SwapTile<double> tile{memory, model.centroids, candidates.points, model.points.d, count};
  const double none = __longlong_as_double(0x7fffffffffffffff);  // no number: no distance is too large
  const double limits[kSwapEach] = {none, none, none, none};
  double e[kSwapEach][kSwapEach];
  tile.distances(limits, e);
#pragma unroll
  for (int r = 0; r < kSwapEach; ++r) {
    const int32_t cluster = first_cluster + tile.y() + kSwapSide * r;
    if (cluster >= model.k) continue;
    const double reach = model.reaches[cluster];
#pragma unroll
    for (int i = 0; i < kSwapEach; ++i) {
      const int candidate = tile.x() + kSwapSide * i;
      if (candidate >= count || !(__dsqrt_rn(e[r][i]) < reach)) continue;
      const uint32_t place = atomicAdd(candidates.lengths + cluster, 1U);
      candidates.listed[int64_t{cluster} * candidates.count + place] = static_cast<uint32_t>(first + candidate);
    }
  }
}

// The cluster that this tile has rows of.
__device__ int32_t cluster_of_tile(const SwapModel& model, uint32_t tile) {
  int32_t low = 0;
  int32_t high = model.k - 1;
  while (low < high) {
    const int32_t middle = (low + high + 1) / 2;
    if (model.first_tile[middle] <= tile) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// A block has a tile of rows and goes through the candidates that reach their cluster.
template <class T>
__global__ void __launch_bounds__(kSwapThreads, 2) mark_kernel(SwapModel model, SwapCandidates candidates) {
  __shared__ SwapTileMemory memory;
  __shared__ double all_limits[kSwapTile];
  __shared__ unsigned long long marks[kSwapTile];
  if (blockIdx.x >= model.first_tile[model.k]) return;
  const int32_t cluster = cluster_of_tile(model, blockIdx.x);
  const uint32_t length = candidates.lengths[cluster];
  if (length == 0) return;
  const uint32_t* const listed = candidates.listed + int64_t{cluster} * candidates.count;
  const uint32_t first = model.first[cluster] + (blockIdx.x - model.first_tile[cluster]) * kSwapTile;
  const uint32_t last = model.first[cluster + 1] - 1;
  const int t = static_cast<int>(threadIdx.x);
  if (t < kSwapTile) {
    const uint32_t row = model.by_cluster[min(first + t, last)];
    memory.row_numbers[t] = row;
    all_limits[t] = first + t <= last ? model.second_least[row] : -1;
    marks[t] = 0;
  }
  __syncthreads();
  double limits[kSwapEach];
#pragma unroll
  for (int r = 0; r < kSwapEach; ++r) limits[r] = all_limits[SwapTile<T>::y() + kSwapSide * r];
  for (uint32_t begin = 0; begin < length; begin += kSwapTile) {
    const auto count = static_cast<int>(min(static_cast<uint32_t>(kSwapTile), length - begin));
    if (t < count) memory.centre_numbers[t] = listed[begin + t];
    __syncthreads();
    const SwapTile<T> tile{memory, static_cast<const T*>(model.points.data), candidates.points, model.points.d, count};
    double e[kSwapEach][kSwapEach];
    if (!tile.distances(limits, e)) continue;
#pragma unroll
    for (int i = 0; i < kSwapEach; ++i) {
      const int candidate = tile.x() + kSwapSide * i;
      unsigned long long mine = 0;
#pragma unroll
      for (int r = 0; r < kSwapEach; ++r) {
        if (e[r][i] < limits[r]) mine |= 1ULL << (tile.y() + kSwapSide * r);
      }
      if (candidate < count && mine != 0) atomicOr(marks + candidate, mine);
    }
    __syncthreads();
    if (t < count && marks[t] != 0) {
      const int64_t candidate = memory.centre_numbers[t];
      candidates.marks[candidate * candidates.mark_stride + blockIdx.x] = marks[t];
      candidates.touched[candidate * model.k + cluster] = 1;
      marks[t] = 0;
    }
  }
}

constexpr int kWindow = 32;  // tiles whose marks are listed at a time
constexpr int kRows = 64;    // that are looked at together
constexpr int kColumns = 32;

enum Chain : int { kChange, kGain, kWeight, kChains };

// State of a block for its candidate.
struct Settling {
  double differences[kRows][kColumns + 1];  // of rows to the candidate, some columns
  double terms[kChains][kRows];             // what each row adds; no weight if it is not taken
  double sums[kChains];                     // of this cluster, but the gain is of all clusters
  double weight;                            // of all taken rows
  uint32_t rows[kRows];
  uint32_t listed[kWindow * kSwapTile];
  uint32_t words[kThreads / 32];
  int count;  // of those listed
  int recoveries;
};

// In dynamic shared memory, a value a column.
struct SettledColumns {
  const double* point;
  double* here;   // sums of differences of the rows taken from a cluster
  double* taken;  // of all
};

__device__ void list_marked(const SwapModel& model, const unsigned long long* marks, uint32_t tiles,
                            uint32_t first_place, Settling& now) {
  const int t = static_cast<int>(threadIdx.x);
  if (t < 32) {
    unsigned long long mine = static_cast<uint32_t>(t) < tiles ? marks[t] : 0;
    const auto count = static_cast<uint32_t>(__popcll(static_cast<long long>(mine)));
    const uint32_t end = warp_inclusive_sum(count);
    for (uint32_t place = end - count; mine != 0; mine &= mine - 1, ++place) {
      const int row = __ffsll(static_cast<long long>(mine)) - 1;
      now.listed[place] = model.by_cluster[first_place + static_cast<uint32_t>(t * kSwapTile + row)];
    }
    if (t == 31) now.count = static_cast<int>(end);
  }
  __syncthreads();
}

__device__ void load_differences(const SwapModel& model, int64_t first, int count, const double* point, Settling& now) {
  for (int i = static_cast<int>(threadIdx.x); i < count * kColumns; i += kThreads) {
    const int row = i / kColumns, column = i % kColumns;
    if (first + column >= model.points.d) continue;
    const double x = load_double(model.points, now.rows[row] * model.points.d + first + column);
    now.differences[row][column] = __dsub_rn(x, point[first + column]);
  }
  __syncthreads();
}

// Computes the terms of the thread's row at distance e.
__device__ void find_terms(const SwapModel& model, double e, Settling& now) {
  const int t = static_cast<int>(threadIdx.x);
  const uint32_t row = now.rows[t];
  const double least = model.least[row];
  const double weight = weight_of(model.points, row);
  const bool taken = e < least;
  now.terms[kChange][t] = __dmul_rn(weight, __dsub_rn(fmax(e, least), model.second_least[row]));
  now.terms[kGain][t] = taken ? __dmul_rn(weight, __dsub_rn(least, e)) : 0;
  now.terms[kWeight][t] = taken ? weight : 0;
}

// Some rows of a cluster, in their order.
__device__ void look_at_rows(const SwapModel& model, const SettledColumns& columns, int count, Settling& now) {
  const int t = static_cast<int>(threadIdx.x);
  const int64_t d = model.points.d;
  double e = 0;
  for (int64_t first = 0; first < d; first += kColumns) {
    load_differences(model, first, count, columns.point, now);
    const int depth = static_cast<int>(min(static_cast<int64_t>(kColumns), d - first));
    if (t < count) {
#pragma unroll 4
      for (int j = 0; j < depth; ++j) e = add_square(e, now.differences[t][j]);
    }
    if (first + kColumns < d) __syncthreads();
  }
  if (t < count) find_terms(model, e, now);
  __syncthreads();
  if (t >= kRows && t < kRows + kChains) {
    now.sums[t - kRows] = add_in_order(now.sums[t - kRows], now.terms[t - kRows], count);
  }
  for (int64_t first = 0; first < d; first += kColumns) {
    if (d > kColumns) load_differences(model, first, count, columns.point, now);
    if (t < kColumns && first + t < d) {
      double sum = columns.here[first + t];
#pragma unroll 8
      for (int row = 0; row < count; ++row) {
        sum = __dadd_rn(sum, __dmul_rn(now.terms[kWeight][row], now.differences[row][t]));
      }
      columns.here[first + t] = sum;
    }
    __syncthreads();
  }
}

// Returns the gain of the cluster's update without the rows that were taken from it.
__device__ double recovery(const SwapModel& model, int64_t cluster, const SettledColumns& columns, Settling& now) {
  const int64_t d = model.points.d;
  const double weight = now.sums[kWeight];
  if (!(weight > 0)) return 0;
  for (int64_t j = threadIdx.x; j < d; j += kThreads) {
    const double sum = columns.here[j];
    columns.taken[j] = __dadd_rn(columns.taken[j], sum);
    const double away = __dsub_rn(columns.point[j], model.centroids[cluster * d + j]);
    const double from_centroid = __dadd_rn(sum, __dmul_rn(weight, away));
    columns.here[j] = __dmul_rn(from_centroid, from_centroid);
  }
  __syncthreads();
  if (threadIdx.x != 0) return 0;
  now.weight = __dadd_rn(now.weight, weight);
  const double all = model.weights[cluster];
  if (!(all > weight)) return 0;
  return __ddiv_rn(add_in_order(0, columns.here, static_cast<int>(d)), __dsub_rn(all, weight));
}

// The marked rows of one cluster.
__device__ void settle_cluster(const SwapModel& model, const SwapCandidates& candidates, int64_t cluster,
                               const SettledColumns& columns, Settling& now) {
  const int t = static_cast<int>(threadIdx.x);
  const int64_t candidate = blockIdx.x;
  for (int64_t j = t; j < model.points.d; j += kThreads) columns.here[j] = 0;
  if (t == 0) now.sums[kChange] = now.sums[kWeight] = 0;
  const unsigned long long* const marks = candidates.marks + candidate * candidates.mark_stride;
  const uint32_t begin = model.first_tile[cluster];
  const uint32_t end = model.first_tile[cluster + 1];
  for (uint32_t tile = begin; tile < end; tile += kWindow) {
    const uint32_t place = model.first[cluster] + (tile - begin) * kSwapTile;
    list_marked(model, marks + tile, end - tile, place, now);
    const int listed = now.count;
    __syncthreads();  // the next list may be made
    for (int first = 0; first < listed; first += kRows) {
      const int count = min(kRows, listed - first);
      if (t < count) now.rows[t] = now.listed[first + t];
      __syncthreads();
      look_at_rows(model, columns, count, now);
    }
  }
  const double gained = recovery(model, cluster, columns, now);
  if (t == 0) {
    const double change = now.sums[kChange];
    const double cost = change == 0 ? model.costs[cluster] : __dadd_rn(model.raw_costs[cluster], change);
    candidates.removals[candidate * model.k + cluster] = __dadd_rn(cost, gained);
    candidates.recoveries[candidate * model.k + now.recoveries++] = gained;
  }
  __syncthreads();
}

// G of the contract, by the first thread.
__device__ double gain_of(const SwapModel& model, const SwapCandidates& candidates, const SettledColumns& columns,
                          const Settling& now) {
  double gain = now.sums[kGain];
  if (now.weight > 0) {
    double square = 0;
    for (int64_t j = 0; j < model.points.d; ++j) square = add_square(square, columns.taken[j]);
    gain = __dadd_rn(gain, __ddiv_rn(square, now.weight));
  }
  return add_in_order(gain, candidates.recoveries + int64_t{blockIdx.x} * model.k, now.recoveries);
}

// The least of all threads', in the first one.
__device__ Ranked least_of_block(Ranked best) {
  __shared__ Ranked of_warp[kThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    Ranked other{};
    other.value = __shfl_xor_sync(~0U, best.value, step);
    other.number = __shfl_xor_sync(~0U, best.number, step);
    if (other < best) best = other;
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = best;
  __syncthreads();
  for (const Ranked& other : of_warp) {
    if (other < best) best = other;
  }
  return best;
}

// Which centroid is removed.
__device__ void choose(const SwapModel& model, const SwapCandidates& candidates, double gain) {
  const int64_t candidate = blockIdx.x;
  const uint32_t own = model.nearest[candidates.rows[candidate]];
  Ranked best{__longlong_as_double(0x7ff0000000000000), ~0U};
  for (int64_t c = threadIdx.x; c < model.k; c += kThreads) {
    if (c == own) continue;
    const int64_t at = candidate * model.k + c;
    const double cost = candidates.touched[at] != 0 ? candidates.removals[at] : model.costs[c];
    const Ranked mine{__dsub_rn(cost, gain), static_cast<uint32_t>(c)};
    if (mine < best) best = mine;
  }
  best = least_of_block(best);
  if (threadIdx.x == 0) candidates.found[candidate] = {best.value, best.number, own};
}

// A block has a candidate.
__global__ void __launch_bounds__(kThreads) settle_kernel(SwapModel model, SwapCandidates candidates) {
  extern __shared__ double of_columns[];
  __shared__ Settling now;
  __shared__ double gain;
  const int t = static_cast<int>(threadIdx.x);
  const int64_t d = model.points.d;
  const SettledColumns columns{of_columns, of_columns + d, of_columns + 2 * d};
  for (int64_t j = t; j < d; j += kThreads) {
    of_columns[j] = candidates.points[blockIdx.x * d + j];
    columns.taken[j] = 0;
  }
  if (t == 0) {
    now.weight = now.sums[kGain] = 0;
    now.recoveries = 0;
  }
  __syncthreads();
  const uint8_t* const touched = candidates.touched + int64_t{blockIdx.x} * model.k;
  for (int64_t first = 0; first < model.k; first += kThreads) {
    const bool mine = first + t < model.k && touched[first + t] != 0;
    const uint32_t word = __ballot_sync(~0U, mine);
    if (t % 32 == 0) now.words[t / 32] = word;
    __syncthreads();
    for (int w = 0; w < kThreads / 32; ++w) {
      for (uint32_t bits = now.words[w]; bits != 0; bits &= bits - 1) {
        settle_cluster(model, candidates, first + w * 32 + __ffs(static_cast<int>(bits)) - 1, columns, now);
      }
    }
    __syncthreads();
  }
  if (t == 0) gain = gain_of(model, candidates, columns, now);
  __syncthreads();
  choose(model, candidates, gain);
}

}  // namespace

void find_best_swaps(const SwapModel& model, const SwapCandidates& candidates, cudaStream_t stream) {
  const auto count = static_cast<unsigned>(candidates.count);
  const auto tiles = [](int64_t of) { return static_cast<unsigned>((of + kSwapTile - 1) / kSwapTile); };
  point_kernel<<<count, kThreads, 0, stream>>>(model.points, candidates);
  check_launch("fetching candidates");
  reach_kernel<<<dim3(tiles(model.k), tiles(candidates.count)), kSwapThreads, 0, stream>>>(model, candidates);
  check_launch("finding the clusters that candidates reach");
  dispatch_type(model.points.type, [&](auto type) {
    mark_kernel<decltype(type)>
        <<<static_cast<unsigned>(model.max_tiles()), kSwapThreads, 0, stream>>>(model, candidates);
  });
  check_launch("comparing candidates with rows");
  const size_t shared = 3 * static_cast<size_t>(model.points.d) * sizeof(double);
  constexpr size_t kFree = size_t{16} << 10;  // of what a kernel has without asking
  if (shared > kFree) allow_all_shared_memory(settle_kernel, "scoring swaps");
  settle_kernel<<<count, kThreads, shared, stream>>>(model, candidates);
  check_launch("scoring swaps");
}

}  // namespace manymeans::cuda
