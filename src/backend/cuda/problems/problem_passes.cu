#include "backend/cuda/exact/cluster_sums.cuh"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/exact/nearest.cuh"
#include "backend/cuda/exact/solve.cuh"
#include "backend/cuda/problems/problem_passes.h"
#include "backend/cuda/problems/relocation.cuh"
#include "backend/cuda/runtime/dependent_launch.cuh"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/ptx.cuh"

namespace manymeans::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTeams = kThreads / kLanes;
constexpr int kProblemRows = 64;  // that a block of teams labels at once
constexpr int kRows = kProblemRows / kTeams;

// Returns whether a thread has a row of such a width for itself.
__host__ __device__ constexpr bool is_row_of_thread(int width, bool float64) {
  return !float64 || width <= 32;
}

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

// How threads share rows of up to kWidth columns; T is the type of prototypes. Of few values each thread has a row:
// eight threads would exchange more than they compute.
template <int kWidth, class T>
struct Sharing {
  static constexpr bool kAlone = is_row_of_thread(kWidth, sizeof(T) == sizeof(double));
  static constexpr int kSteps = kWidth / kLanes;  // columns of a thread, where eight share a row
  static constexpr int kAtOnce = kAlone ? kThreads : kRows * kTeams;
};

// A row of d values, and zeros behind them. Where it fills whole words of 16 bytes it is read so: the threads of a warp
// have 32 rows, and each reading of theirs touches 32 lines.
template <int kWidth, class S>
__device__ __forceinline__ void load_row_of(const S* row, int64_t d, float (&x)[kWidth]) {
  constexpr int kOfWord = sizeof(uint4) / sizeof(S);
  if constexpr (kWidth % kOfWord == 0) {
    if (d == kWidth && reinterpret_cast<uintptr_t>(row) % sizeof(uint4) == 0) {
#pragma unroll
      for (int word = 0; word < kWidth / kOfWord; ++word) {
        const uint4 loaded = reinterpret_cast<const uint4*>(row)[word];
        const auto* const values = reinterpret_cast<const S*>(&loaded);
#pragma unroll
        for (int i = 0; i < kOfWord; ++i) x[word * kOfWord + i] = static_cast<float>(values[i]);
      }
      return;
    }
  }
#pragma unroll
  for (int j = 0; j < kWidth; ++j) x[j] = j < d ? static_cast<float>(row[j]) : 0;
}

// Exact for every type but float64, which this is not for.
template <int kWidth>
__device__ __forceinline__ void load_row(const DevicePoints& points, int64_t row, float (&x)[kWidth]) {
  const int64_t at = row * points.d;
  switch (points.type) {
    case DataType::kFloat32: return load_row_of(static_cast<const float*>(points.data) + at, points.d, x);
    case DataType::kFloat16: return load_row_of(static_cast<const __half*>(points.data) + at, points.d, x);
    case DataType::kBFloat16: return load_row_of(static_cast<const __nv_bfloat16*>(points.data) + at, points.d, x);
    case DataType::kUInt8: return load_row_of(static_cast<const uint8_t*>(points.data) + at, points.d, x);
    case DataType::kInt8: return load_row_of(static_cast<const int8_t*>(points.data) + at, points.d, x);
    case DataType::kFloat64: break;
  }
}

// The prototype that is nearest to a row of float32 values, if distances in float32 prove it; else k. `factor`: of
// problem_factor().
template <int kWidth>
__device__ __forceinline__ int proved_nearest(const float (&x)[kWidth], const float* centres, int k, float factor) {
  constexpr float kMaxProved = 0x1p126F;  // a distance that overflows may be little above the largest number
  float best = INFINITY, second = INFINITY;
  int index = k;
#pragma unroll 1
  for (int c = 0; c < k; ++c) {
    float p[4] = {};
#pragma unroll
    for (int j = 0; j < kWidth; j += 4) {
      const float4 four = *reinterpret_cast<const float4*>(centres + c * kWidth + j);
      const float t[4] = {__fsub_rn(x[j], four.x), __fsub_rn(x[j + 1], four.y), __fsub_rn(x[j + 2], four.z),
                          __fsub_rn(x[j + 3], four.w)};
#pragma unroll
      for (int i = 0; i < 4; ++i) p[i] = __fmaf_rn(t[i], t[i], p[i]);
    }
    const float d2 = __fadd_rn(__fadd_rn(p[0], p[1]), __fadd_rn(p[2], p[3]));
    second = fminf(second, fmaxf(best, d2));
    if (d2 < best) index = c;
    best = fminf(best, d2);
  }
  return best < kMaxProved && second > __fmaf_rn(best, factor, 0x1p-126F) ? index : k;
}

// The prototype that is nearest to a row, by one thread. The distance is canonical_distance(); columns beyond the last
// are 0 and add + 0.
template <int kWidth, class T>
__device__ __forceinline__ Nearest nearest_alone(const T (&x)[kWidth], const T* centres, int k) {
  Nearest best(INFINITY, k);
#pragma unroll 1
  for (int c = 0; c < k; ++c) {
    double p[kLanes] = {};
#pragma unroll
    for (int j = 0; j < kWidth; ++j) p[j % kLanes] = squared_step(x[j], centres[c * kWidth + j], p[j % kLanes]);
    const double d2 = __dadd_rn(__dadd_rn(__dadd_rn(p[0], p[4]), __dadd_rn(p[2], p[6])),
                                __dadd_rn(__dadd_rn(p[1], p[5]), __dadd_rn(p[3], p[7])));
    best.take(d2, c);
  }
  return best;
}

// The rows of one step of a team, a lane's columns of each.
template <int kSteps>
struct RowValues {
  double x[kRows][kSteps];
};

// The prototype that is nearest to each row of a team, in all of its threads. `centres`: widened, kSteps * 8 columns.
template <int kSteps>
__device__ __forceinline__ void find_nearest(const RowValues<kSteps>& rows, const double* centres, int k, int lane,
                                             Nearest (&best)[kRows]) {
#pragma unroll 1
  for (int first = 0; first < k; first += kLanes) {
    double p[kRows][kLanes] = {};
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const double c = centres[(first + i) * (kSteps * kLanes) + s * kLanes + lane];
#pragma unroll
        for (int r = 0; r < kRows; ++r) p[r][i] = squared_step(rows.x[r][s], c, p[r][i]);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const double d2 = fold_eight_each(p[r], lane);
      if (first + lane < k) best[r].take(d2, first + lane);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) {
      const double distance = __shfl_xor_sync(~0U, best[r].distance, step);
      const long long index = __shfl_xor_sync(~0U, best[r].k, step);
      best[r].take(distance, index);
    }
  }
}

// A row of the tile that changed its label. A block lists such rows, and moves them later. If a team moved its row at
// once, the other teams of its warp would wait.
struct MovedRow {
  int32_t row;  // from the tile's first
  uint16_t from, to;
};
struct MovedRows {
  const MovedRow* at;
  int count;
};
constexpr int kMaxMoved = 1024;
constexpr uint16_t kFromNone = 0xffff;  // in a first pass

// Takes the listed rows from their clusters and adds them to others. All threads of the block call it.
template <class Sums>
__device__ void add_moved(const ProblemTask& task, const Block& here, const Sums& sums, const MovedRows& moved,
                          LabelSumWords& hash) {
  const auto d = static_cast<int>(task.points.d);
  const int of_cluster = task.terms.limbs * d;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int i = threadIdx.x / kLanes; i < moved.count; i += kTeams) {
    const MovedRow row = moved.at[i];
    const int64_t first = (here.model.first_row + here.tile.first + row.row) * d;
    for (int j = lane; j < d; j += kLanes) {
      const double x = load_double(task.points, first + j);
      split_term<0>(task.terms, scaled_term(task.terms, x, top_of(task.terms, j), j), [&](int g, int64_t part) {
        sums.add_sum(row.to * of_cluster + g * d + j, part);
        if (row.from != kFromNone) sums.add_sum(row.from * of_cluster + g * d + j, -part);
      });
    }
  }
  for (int i = threadIdx.x; i < moved.count; i += kThreads) {
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

template <int kWidth, class T>
__global__ void __launch_bounds__(kThreads) pass_kernel(const __grid_constant__ ProblemTask task) {
  await_kernel_before();
  extern __shared__ __align__(16) double memory[];
  __shared__ MovedRow moved[kMaxMoved];
  __shared__ int moved_count;
  const Block here(task);
  const PassControl& control = task.controls[here.tile.model];
  if (control.stopped != device::kGoesOn) return;
  const bool first_pass = here.model.first_pass != 0 && control.passes == 0;
  using Shared = Sharing<kWidth, T>;
  const int64_t d = task.points.d;
  const int k = here.model.k;
  const int padded = (k + kLanes - 1) / kLanes * kLanes;
  T* const centres = reinterpret_cast<T*>(memory);
  for (int i = threadIdx.x; i < padded * kWidth; i += kThreads) {
    const int c = i / kWidth;
    const int j = i % kWidth;
    centres[i] = c < k && j < d ? static_cast<T>(prototype_value(here.range, task.float64, c * d + j)) : T{0};
  }
  auto* const words = reinterpret_cast<uint32_t*>(centres + padded * kWidth);
  const SharedSums sums{shared_address(words), static_cast<int>(k * task.terms.limbs * d), k};
  for (int i = threadIdx.x; i < 2 * sums.all(); i += kThreads) words[i] = 0;
  if (threadIdx.x == 0) moved_count = 0;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int team = static_cast<int>(threadIdx.x) / kLanes;
  LabelSumWords hash;
  unsigned long long changed = 0;
  unsigned unproved = 0;  // rows of this thread
  for (int64_t start = here.tile.first; start < here.tile.last; start += Shared::kAtOnce) {
    bool full = false;
    const auto label = [&](int64_t row, uint32_t to) {
      if (row >= here.tile.last) return;
      const uint32_t from = first_pass ? kNoLabel : load_label(task.labels, 0, here.label_place(row));
      if (from == to) return;
      store_label(task.labels, 0, here.label_place(row), to);
      const int at = atomicAdd(&moved_count, 1);
      moved[at] = {static_cast<int32_t>(row - here.tile.first), static_cast<uint16_t>(from), static_cast<uint16_t>(to)};
      full |= at >= kMaxMoved - Shared::kAtOnce;
    };
    const auto place_of = [&](int64_t row) { return here.model.first_row + min(row, here.tile.last - 1); };
    const auto value_of = [&](int64_t row, int j) {
      return j < d ? load_double(task.points, place_of(row) * d + j) : 0;
    };
    if constexpr (Shared::kAlone) {
      const int64_t row = start + threadIdx.x;
      T x[kWidth];
      int nearest = k;
      if constexpr (sizeof(T) == sizeof(float)) {
        load_row(task.points, place_of(row), x);
        nearest = proved_nearest<kWidth>(x, centres, k, task.factor);
        unproved += nearest == k && row < here.tile.last ? 1 : 0;
      } else {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) x[j] = value_of(row, j);
      }
      if (nearest == k) nearest = static_cast<int>(nearest_alone<kWidth>(x, centres, k).k);
      label(row, static_cast<uint32_t>(nearest));
    } else {
      RowValues<Shared::kSteps> rows;
      Nearest best[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        best[r] = {INFINITY, k};
#pragma unroll
        for (int s = 0; s < Shared::kSteps; ++s) rows.x[r][s] = value_of(start + r * kTeams + team, s * kLanes + lane);
      }
      find_nearest<Shared::kSteps>(rows, centres, k, lane, best);
#pragma unroll
      for (int r = 0; r < kRows && lane == 0; ++r) label(start + r * kTeams + team, static_cast<uint32_t>(best[r].k));
    }
    const bool last = start + Shared::kAtOnce >= here.tile.last;
    if (__syncthreads_or(full || last) == 0) continue;
    const int count = moved_count;
    add_moved(task, here, sums, {moved, count}, hash);
    changed += static_cast<unsigned>(count);
    __syncthreads();
    if (threadIdx.x == 0) moved_count = 0;
    __syncthreads();
  }
  if constexpr (sizeof(T) == sizeof(float)) {
    unproved = __reduce_add_sync(~0U, unproved);
    if (threadIdx.x % 32 == 0 && unproved != 0) {
      atomicAdd(&task.counters[here.tile.model].resolved, static_cast<unsigned long long>(unproved));
    }
  }
  if (changed == 0) return;
  count_changes(task.counters[here.tile.model], changed, hash);
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
  add_moved(task, here, GlobalSums{here.range.sums, here.range.weights, here.range.counts}, {moved, shared.count},
            hash);
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

// A block a model; a warp has some of the rows, 32 columns of each at a time.
__global__ void __launch_bounds__(kThreads) ranges_kernel(const __grid_constant__ ProblemTask task, double* ranges) {
  __shared__ double lowest[kThreads], highest[kThreads];
  const ProblemModel model = task.models[blockIdx.x];
  if (model.active == 0) return;
  const int64_t d = task.points.d;
  double* const to = ranges + blockIdx.x * 2 * d;
  for (int64_t first = 0; first < d; first += 32) {
    const int64_t j = min(first + threadIdx.x % 32, d - 1);
    double low = INFINITY, high = -INFINITY;
    for (int64_t row = threadIdx.x / 32; row < model.rows; row += kThreads / 32) {
      const double v = load_double(task.points, (model.first_row + row) * d + j);
      low = fmin(low, v);
      high = fmax(high, v);
    }
    lowest[threadIdx.x] = low;
    highest[threadIdx.x] = high;
    __syncthreads();
    if (threadIdx.x < 32) {
      for (int other = threadIdx.x; other < kThreads; other += 32) {
        low = fmin(low, lowest[other]);
        high = fmax(high, highest[other]);
      }
      to[j] = low;
      to[d + j] = high;
    }
    __syncthreads();  // both may be written again
  }
}

template <int kWidth, class T>
void launch(const ProblemTask& task, cudaStream_t stream) {
  allow_all_shared_memory(pass_kernel<kWidth, T>, "sizing the shared memory of problems");
  launch_dependent(
      pass_kernel<kWidth, T>,
      {dim3(static_cast<unsigned>(task.tile_count)), kThreads, static_cast<size_t>(task.shared_bytes), stream},
      "a pass of many problems", task);
}

template <int kWidth>
void launch_pass(const ProblemTask& task, cudaStream_t stream) {
  task.float64 ? launch<kWidth, double>(task, stream) : launch<kWidth, float>(task, stream);
}

// 8, 16, 32, 64 or 128.
int width_of(int64_t d) {
  int width = kLanes;
  while (width < d) width *= 2;
  return width;
}

}  // namespace

int64_t problem_shared_bytes(int64_t k, int64_t d, int limbs, bool float64) {
  const int64_t values = (k + kLanes - 1) / kLanes * kLanes * width_of(d);
  return values * static_cast<int64_t>(float64 ? sizeof(double) : sizeof(float)) +
         k * (limbs * d + 2) * static_cast<int64_t>(sizeof(int64_t));
}

float problem_factor(int64_t d, double scale) {
  return static_cast<float>(1 + scale * 3 * (width_of(d) / 4 + 8) * 0x1p-24);
}

int64_t problem_rows_at_once(int64_t d, bool float64) {
  return is_row_of_thread(width_of(d), float64) ? kThreads : kProblemRows;
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
  ranges_kernel<<<static_cast<unsigned>(task.model_count), kThreads, 0, stream>>>(task, ranges);
  check_launch("measuring the columns of many problems");
}

void problem_distances(const ProblemTask& task, double* out, cudaStream_t stream) {
  distances_kernel<<<static_cast<unsigned>(task.tile_count), kThreads, 0, stream>>>(task, out);
  check_launch("measuring the rows of a problem");
}

}  // namespace manymeans::cuda
