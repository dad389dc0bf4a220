#include "backend/cuda/exact/cluster_sums.cuh"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/exact/solve.cuh"
#include "backend/cuda/problems/problem_passes.h"
#include "backend/cuda/problems/problem_screen.cuh"
#include "backend/cuda/problems/relocation.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/ptx.cuh"
#include "backend/cuda/tensor/matrix_bounds.h"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTeams = kThreads / kLanes;
static_assert(kProblemRows == kThreads / 32 * kWarpRows);

__device__ PassRange range_of(const ProblemTask& task, const ProblemModel& model) {
  const int64_t values = model.first_cluster * task.points.d;
  const int64_t bytes = values * (task.float64 ? sizeof(double) : sizeof(float));
  PassRange range;
  range.first_pass = static_cast<int32_t>(model.first_pass);
  range.k = model.k;
  range.prototypes = static_cast<const char*>(task.prototypes) + bytes;
  range.before = static_cast<char*>(task.before) + bytes;
  range.sums = task.sums + values * task.terms.limbs;
  range.weights = task.weights + model.first_cluster;
  range.counts = task.counts + model.first_cluster;
  return range;
}

// A block's model, and where its rows' labels go.
struct Block {
  ProblemTile tile;
  ProblemModel model;
  PassRange range;

  __device__ explicit Block(const ProblemTask& task) : Block(task, task.tiles[blockIdx.x]) {}
  __device__ Block(const ProblemTask& task, const ProblemTile& tile)
      : tile(tile), model(task.models[tile.model]), range(range_of(task, model)) {}
  __device__ int64_t label_place(int64_t row) const { return model.first_label + row; }
};

// A row of the tile that changed its label. A warp lists such rows, and moves them later: one thread that moved its row
// at once would make the others wait.
struct MovedRow {
  int32_t row;  // from the tile's first
  uint16_t from, to;
};
// Listed rows, and the warp or block that moves them.
struct MovedRows {
  const MovedRow* at;
  int count;
  int thread, threads;
};
constexpr int kMaxMoved = 128;          // of a warp
constexpr uint16_t kFromNone = 0xffff;  // in a first pass

// Values of listed rows that a thread reads at once.
constexpr int kAtOnce = 4;

template <int kLimbs, class S, class Sums>
__device__ void add_values(const ProblemTask& task, const S* first, const Sums& sums, const MovedRows& moved) {
  const auto d = static_cast<int>(task.points.d);
  const int of_cluster = task.terms.limbs * d;
  const int teams = moved.threads / kLanes;
  for (int j = moved.thread % kLanes; j < d; j += kLanes) {
    const double top = top_of(task.terms, j);
    for (int i = moved.thread / kLanes; i < moved.count; i += teams * kAtOnce) {
      MovedRow rows[kAtOnce];
      S values[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        rows[u] = moved.at[min(i + u * teams, moved.count - 1)];
        values[u] = first[int64_t{rows[u].row} * d + j];
      }
#pragma unroll
      for (int u = 0; u < kAtOnce && i + u * teams < moved.count; ++u) {
        const int to = rows[u].to * of_cluster + j, from = rows[u].from * of_cluster + j;
        const double term = scaled_term(task.terms, widened(values[u]), top, j);
        split_term<kLimbs>(task.terms, term, [&](int g, int64_t part) {
          sums.add_sum(to + g * d, part);
          if (rows[u].from != kFromNone) sums.add_sum(from + g * d, -part);
        });
      }
    }
  }
}

// Takes the listed rows from their clusters and adds them to others. All these threads call it.
template <class Sums>
__device__ void add_moved(const ProblemTask& task, const Block& here, const Sums& sums, const MovedRows& moved,
                          LabelSumWords& hash) {
  const int64_t first = (here.model.first_row + here.tile.first) * task.points.d;
  with_values(task.points, [&](const auto* values) {
    task.terms.limbs == 1 ? add_values<1>(task, values + first, sums, moved)
                          : add_values<0>(task, values + first, sums, moved);
  });
  for (int i = moved.thread; i < moved.count; i += moved.threads) {
    const MovedRow row = moved.at[i];
    sums.add_weight(row.to, 1);
    sums.add_count(row.to, 1);
    if (row.from == kFromNone) continue;
    sums.add_weight(row.from, -1);
    sums.add_count(row.from, -1);
    hash.add(device_label_term(here.tile.first + row.row, row.to));
    hash.subtract(device_label_term(here.tile.first + row.row, row.from));
  }
}

// The prototype that is nearest to a row of the points, by canonical distances. All threads of the warp call it.
__device__ int nearest_of_warp(const ProblemTask& task, const PassRange& range, int64_t row, const Possible& possible) {
  if (possible.count == kAll) {
    return static_cast<int>(nearest_of<false>(task.points, {range, task.float64, row, 0, range.k}, false, nullptr).k);
  }
  const int team = static_cast<int>(threadIdx.x) % 32 / kLanes;
  const int column = team == 0 ? possible.column : possible.other;
  const double d2 = distance_by_lanes<false>(task.points, {range, task.float64, row, column},
                                             static_cast<int>(threadIdx.x) % kLanes, 0xffU << (team * kLanes));
  Nearest best(__shfl_sync(~0U, d2, 0), possible.column);
  best.take(__shfl_sync(~0U, d2, kLanes), possible.other);
  return static_cast<int>(best.k);
}

// The tiles of prototypes of a product.
__host__ __device__ constexpr int64_t tiles_of(int64_t k) {
  return (k + kSideColumns - 1) / kSideColumns;
}

// Blocks that a multiprocessor has registers for.
constexpr int blocks_of(int width) {
  return width <= 16 ? 3 : width <= 64 ? 2 : 1;
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads, blocks_of(kWidth)) pass_kernel(const __grid_constant__ ProblemTask task) {
  await_kernel_before();
  extern __shared__ __align__(16) float memory[];
  __shared__ MovedRow moved_rows[kThreads / 32][kMaxMoved];
  __shared__ SideBounds bounds;
  const Block here(task);
  const PassControl& control = task.controls[here.tile.model];
  if (control.stopped != device::kGoesOn) return;
  const bool first_pass = here.model.first_pass != 0 && control.passes == 0;
  const int d = static_cast<int>(task.points.d);
  const int k = here.model.k;
  const int tiles = static_cast<int>(tiles_of(k));
  const ProductSides<kWidth> sides(memory, tiles, &bounds);
  auto* const words = reinterpret_cast<uint32_t*>(memory) + side_values(kWidth, tiles);
  const SharedSums sums{shared_address(words), k * task.terms.limbs * d, k};
  for (int i = threadIdx.x; i < 2 * sums.all(); i += kThreads) words[i] = 0;
  sides.build(here.range, task.float64, d, tiles);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  MovedRow* const moved = moved_rows[threadIdx.x / 32];
  int listed = 0;
  LabelSumWords hash;
  unsigned changed = 0;
  unsigned resolved = 0, candidates = 0;  // of this warp
  for (int64_t start = here.tile.first; start < here.tile.last; start += kProblemRows) {
    const int64_t first = start + threadIdx.x / 32 * kWarpRows + lane / 4;
    const auto place_of = [&](int64_t row) { return here.model.first_row + min(row, here.tile.last - 1); };
    const int64_t places[4] = {place_of(first) * d, place_of(first + 8) * d, place_of(first + 16) * d,
                               place_of(first + 24) * d};
    const int64_t row = first + 8 * (lane % 4);
    const bool exists = row < here.tile.last;
    const Possible possible =
        RowSides<kWidth>(task.points, places, sides).possible(sides, tiles, task.rounding, task.bound_scale);
    int nearest = possible.column;
    for (unsigned left = __ballot_sync(~0U, exists && possible.count > 1); left != 0; left &= left - 1) {
      const int of = __ffs(static_cast<int>(left)) - 1;
      const Possible those{__shfl_sync(~0U, possible.count, of), __shfl_sync(~0U, possible.column, of),
                           __shfl_sync(~0U, possible.other, of)};
      const int found = nearest_of_warp(task, here.range, here.model.first_row + __shfl_sync(~0U, row, of), those);
      if (lane == of) nearest = found;
      ++resolved;
      candidates += static_cast<unsigned>(those.count == kAll ? k : those.count);
    }
    const auto to = static_cast<uint32_t>(nearest);
    const uint32_t from = !exists ? to : first_pass ? kNoLabel : load_label(task.labels, 0, here.label_place(row));
    const unsigned moves = __ballot_sync(~0U, from != to);
    if (from != to) {
      store_label(task.labels, 0, here.label_place(row), to);
      moved[listed + __popc(moves & ((1U << lane) - 1))] = {static_cast<int32_t>(row - here.tile.first),
                                                            static_cast<uint16_t>(from), static_cast<uint16_t>(to)};
    }
    listed += __popc(moves);
    if (listed <= kMaxMoved - kWarpRows && start + kProblemRows < here.tile.last) continue;
    __syncwarp();
    add_moved(task, here, sums, {moved, listed, lane, 32}, hash);
    changed += listed;
    listed = 0;
    __syncwarp();
  }
  if (lane == 0 && resolved != 0) {
    PassCounters& counters = task.counters[here.tile.model];
    atomicAdd(&counters.resolved, static_cast<unsigned long long>(resolved));
    atomicAdd(&counters.candidates, static_cast<unsigned long long>(candidates));
  }
  if (__syncthreads_or(changed != 0) == 0) return;
  count_changes(task.counters[here.tile.model], 0, hash);
  if (lane == 0) atomicAdd(&task.counters[here.tile.model].changed, static_cast<unsigned long long>(changed));
  const GlobalSums global{here.range.sums, here.range.weights, here.range.counts};
  for (int i = threadIdx.x; i < sums.all(); i += kThreads) {
    const auto value = static_cast<int64_t>(words[i] | static_cast<uint64_t>(words[sums.all() + i]) << 32);
    if (value == 0) continue;
    if (i < sums.sums) {
      global.add_sum(i, value);
    } else if (i < sums.sums + k) {
      global.add_weight(i - sums.sums, value);
    } else {
      global.add_count(i - sums.sums - k, value);
    }
  }
}

// Gives rows to the empty clusters of a model. Returns false, and changes nothing, if the engine must do it. All
// threads of the block call it.
__device__ bool relocate(const ProblemTask& task, int model) {
  __shared__ Relocation shared;
  __shared__ MovedRow moved[kMaxRelocated];
  const Block here(task, {0, task.models[model].rows, model, 0});
  const RowsOfModel rows{task.points, here.model.first_row, here.model.rows, task.labels, here.model.first_label,
                         here.range,  task.float64};
  if (!find_donors(rows, shared)) return false;
  for (int i = threadIdx.x; i < shared.count; i += kThreads) {
    const AssignedRow& donor = shared.donors[i];
    moved[i] = {donor.row, static_cast<uint16_t>(donor.label), static_cast<uint16_t>(shared.empty[i])};
    store_label(task.labels, 0, here.label_place(donor.row), shared.empty[i]);
  }
  __syncthreads();
  LabelSumWords hash;
  add_moved(task, here, GlobalSums{here.range.sums, here.range.weights, here.range.counts},
            {moved, shared.count, static_cast<int>(threadIdx.x), kThreads}, hash);
  __syncwarp();
  count_changes(task.counters[model], 0, hash);
  if (threadIdx.x == 0) task.counters[model].empty = static_cast<unsigned>(shared.count);
  __syncthreads();
  return true;
}

// A block a model.
__global__ void __launch_bounds__(kThreads) update_kernel(const __grid_constant__ ProblemTask task, bool last) {
  await_kernel_before();
  let_next_kernel_come();
  __shared__ PassCounters shifts;
  const ProblemModel model = task.models[blockIdx.x];
  PassControl& control = task.controls[blockIdx.x];
  if (model.active == 0 || control.stopped != device::kGoesOn) return;
  const PassRange range = range_of(task, model);
  const PassCounters& counters = task.counters[blockIdx.x];
  bool empty = false;
  for (int64_t k = threadIdx.x; k < range.k; k += kThreads) empty |= range.weights[k] == 0;
  const bool few = changed_few(counters, control, model.first_pass != 0 && control.passes == 0);
  const bool lost = __syncthreads_or(empty) != 0;  // all have read the control
  const bool helps = lost && !few && !last && control.relocates != 0;
  const bool judge = few || (lost && !(helps && relocate(task, static_cast<int>(blockIdx.x))));
  if (threadIdx.x == 0) {
    ++control.passes;
    if (judge) control.stopped = device::kByPass;
    shifts = {};
  }
  if (judge || last) return;
  __syncthreads();
  SolveTask solving;
  solving.ranges.float64 = task.float64;
  solving.d = task.points.d;
  solving.limbs = task.terms.limbs;
  solving.bits = task.terms.bits;
  solving.shifts = task.solve_shifts;
  for (int64_t k = threadIdx.x / 32; k < range.k; k += kThreads / 32) {
    double d2 = 0;
    for (int64_t j = threadIdx.x % 32; j < solving.d; j += 32) d2 += solve_value(solving, range, k, j).squared_shift();
    d2 = warp_sum(d2);
    if (threadIdx.x % 32 == 0) count_shift(control.shifts, d2, shifts);
  }
  __syncthreads();
  if (threadIdx.x == 0 && may_be_last(control.shifts, shifts, range.k)) control.stopped = device::kByUpdate;
}

// Calls body(row, d2) in the first thread of each row's team, for the rows of the block's tile.
template <class Body>
__device__ void for_assigned(const ProblemTask& task, const Block& here, const Body& body) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const unsigned mask = 0xffU << (threadIdx.x % 32 / kLanes * kLanes);
  for (int64_t row = here.tile.first + threadIdx.x / kLanes; row < here.tile.last; row += kTeams) {
    const uint32_t label = load_label(task.labels, 0, here.label_place(row));
    const double d2 = distance_by_lanes<false>(
        task.points, {here.range, task.float64, here.model.first_row + row, label}, lane, mask);
    if (lane == 0) body(row, label, d2);
  }
}

// Of the tiles of one model.
__global__ void __launch_bounds__(kThreads) distances_kernel(const __grid_constant__ ProblemTask task, double* out) {
  const Block here(task);
  for_assigned(task, here, [&](int64_t row, uint32_t, double d2) { out[row] = d2; });
}

__global__ void __launch_bounds__(kThreads)
    facts_kernel(const __grid_constant__ ProblemTask task, ProblemFacts* facts) {
  const Block here(task);
  LabelSumWords hash;
  double farthest = 0;
  for_assigned(task, here, [&](int64_t row, uint32_t label, double d2) {
    farthest = fmax(farthest, d2);
    hash.add(device_label_term(row, label));
  });
  __syncwarp();
  hash = warp_sum(hash);
  for (int step = 16; step > 0; step /= 2) farthest = fmax(farthest, __shfl_xor_sync(~0U, farthest, step));
  if (threadIdx.x % 32 != 0) return;
  ProblemFacts& found = facts[here.tile.model];
  // Numbers that are not negative are in the order of their bits.
  atomicMax(reinterpret_cast<unsigned long long*>(&found.farthest),
            static_cast<unsigned long long>(__double_as_longlong(farthest)));
  atomic_add_128(reinterpret_cast<unsigned long long*>(&found.hash_low),
                 reinterpret_cast<unsigned long long*>(&found.hash_high), hash.low, hash.high);
}

__global__ void __launch_bounds__(kThreads)
    terms_kernel(const __grid_constant__ ProblemTask task, const TermSplitter* splitters, int64_t* limbs) {
  __shared__ int64_t scratch[kDistanceLimbs * 32];
  const Block here(task);
  const TermSplitter splitter = splitters[here.tile.model];
  int64_t sums[kDistanceLimbs] = {};
  for_assigned(task, here, [&](int64_t, uint32_t, double d2) { add_limbs(splitter, d2, 1, sums); });
  __syncwarp();
  block_add(sums, limbs + here.tile.model * kDistanceLimbs, scratch);
}

// Numbers that are larger for larger values, and never 0.
__device__ unsigned long long ordered(double v) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(v));
  return bits >> 63 != 0 ? ~bits : bits | 1ULL << 63;
}
__device__ double value_of_ordered(unsigned long long number) {
  return __longlong_as_double(static_cast<long long>(number >> 63 != 0 ? number & ~(1ULL << 63) : ~number));
}

// ordered() of the largest -v and v of each column, (models, 2, D), zeroed before. A thread has a column of some rows.
__global__ void __launch_bounds__(kThreads)
    ranges_kernel(const __grid_constant__ ProblemTask task, unsigned long long* ranges) {
  const Block here(task);
  const int64_t d = task.points.d;
  const int64_t together = kThreads / min(d, int64_t{kThreads});  // rows
  const int64_t j = threadIdx.x % d;
  double low = INFINITY, high = -INFINITY;
  for (int64_t row = here.tile.first + threadIdx.x / d; row < here.tile.last; row += together) {
    const double v = load_double(task.points, (here.model.first_row + row) * d + j);
    low = fmin(low, v);
    high = fmax(high, v);
  }
  if (threadIdx.x >= together * d || low > high) return;
  unsigned long long* const to = ranges + here.tile.model * 2 * d + j;
  atomicMax(to, ordered(-low));
  atomicMax(to + d, ordered(high));
}

__global__ void ranges_of_ordered(double* ranges, int64_t count, int64_t d) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  const double v = value_of_ordered(reinterpret_cast<const unsigned long long*>(ranges)[at]);
  ranges[at] = at / d % 2 == 0 ? -v : v;
}

template <int kWidth>
void launch_pass(const ProblemTask& task, cudaStream_t stream) {
  allow_all_shared_memory(pass_kernel<kWidth>, "sizing the shared memory of problems");
  launch_dependent(
      pass_kernel<kWidth>,
      {dim3(static_cast<unsigned>(task.tile_count)), kThreads, static_cast<size_t>(task.shared_bytes), stream},
      "a pass of many problems", task);
}

// 8, 16, 32, 64 or 128.
int width_of(int64_t d) {
  int width = kLanes;
  while (width < d) width *= 2;
  return width;
}

}  // namespace

int64_t problem_shared_bytes(int64_t k, int64_t d, int limbs) {
  return side_values(width_of(d), tiles_of(k)) * static_cast<int64_t>(sizeof(float)) +
         k * (limbs * d + 2) * static_cast<int64_t>(sizeof(int64_t));
}

float problem_rounding(int64_t d) {
  const int width = width_of(d);
  const double of_products = product_roundings(false) * kProductUnit * (width / kSideColumns);
  return static_cast<float>((of_products + (width + 32) * 0x1p-24) * 1.0625);
}

void problem_pass(const ProblemTask& task, cudaStream_t stream) {
  switch (width_of(task.points.d)) {
    case 8: return launch_pass<8>(task, stream);
    case 16: return launch_pass<16>(task, stream);
    case 32: return launch_pass<32>(task, stream);
    case 64: return launch_pass<64>(task, stream);
    default: return launch_pass<128>(task, stream);
  }
}
static_assert(kMaxProblemColumns == 128);

void problem_update(const ProblemTask& task, bool last, cudaStream_t stream) {
  launch_dependent(update_kernel, {dim3(static_cast<unsigned>(task.model_count)), kThreads, 0, stream},
                   "updating many problems", task, last);
}

void problem_facts(const ProblemTask& task, ProblemFacts* facts, cudaStream_t stream) {
  facts_kernel<<<static_cast<unsigned>(task.tile_count), kThreads, 0, stream>>>(task, facts);
  check_launch("measuring the rows of many problems");
}

void problem_terms(const ProblemTask& task, const TermSplitter* splitters, int64_t* limbs, cudaStream_t stream) {
  terms_kernel<<<static_cast<unsigned>(task.tile_count), kThreads, 0, stream>>>(task, splitters, limbs);
  check_launch("summing the distances of many problems");
}

void problem_ranges(const ProblemTask& task, double* ranges, cudaStream_t stream) {
  const int64_t count = int64_t{task.model_count} * 2 * task.points.d;
  check(cudaMemsetAsync(ranges, 0, static_cast<size_t>(count) * sizeof(double), stream), "measuring columns");
  ranges_kernel<<<static_cast<unsigned>(task.tile_count), kThreads, 0, stream>>>(
      task, reinterpret_cast<unsigned long long*>(ranges));
  ranges_of_ordered<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(ranges, count,
                                                                                                       task.points.d);
  check_launch("measuring the columns of many problems");
}

void problem_distances(const ProblemTask& task, double* out, cudaStream_t stream) {
  distances_kernel<<<static_cast<unsigned>(task.tile_count), kThreads, 0, stream>>>(task, out);
  check_launch("measuring the rows of a problem");
}

}  // namespace manymeans::cuda
