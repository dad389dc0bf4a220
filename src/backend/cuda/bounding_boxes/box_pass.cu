// Cost: find_kernel takes a comparison in binary64 for each box, model and prototype, about 8 D operations. A box on
// the border of cells takes 128 (4 D + 1) bytes and 128 canonical distances to each of a few prototypes. Canonical
// distances of four columns cost hardly more than scores with a proof, so there is no further screen.
#include "backend/cuda/bounding_boxes/box_pass.h"
#include "backend/cuda/exact/column_terms.cuh"
#include "backend/cuda/exact/label_changes.cuh"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/launch.h"
#include "core/fixed_point.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kFindThreads = 256;
constexpr int kFindValues = 2048;  // of prototypes that find_kernel keeps in shared memory
constexpr int kThreads = 128;      // of rows_kernel
constexpr int kWarps = kThreads / 32;
constexpr int kRowsPerLane = static_cast<int>(kBoxRows / 32);
static_assert(kRowsPerLane == kRowsTogether, "labels of a lane are loaded at once");
static_assert(kMaxBoxColumns * kMaxLimbs + 2 <= 32, "a lane adds a number");

template <int D>
__device__ __forceinline__ Box<D> load_box(const BoxedRows& rows, int64_t at) {
  Box<D> box;
#pragma unroll
  for (int j = 0; j < D; ++j) {
    box.middle[j] = rows.boxes[j * rows.count + at];
    box.half[j] = rows.boxes[(D + j) * rows.count + at];
  }
  box.half_square = rows.boxes[2 * D * rows.count + at];
  return box;
}

template <int D>
__device__ __forceinline__ void load_prototype(const BoxTask& task, const PassRange& range, int64_t k, double (&c)[D]) {
#pragma unroll
  for (int j = 0; j < D; ++j) c[j] = prototype_value(range, task.ranges.float64, k * D + j);
}

// Prototypes [first, first + count) into shared memory. All threads of the block call it.
template <int D>
__device__ void stage_prototypes(const BoxTask& task, const PassRange& range, int64_t first, int count, double* to) {
  __syncthreads();
  for (int i = threadIdx.x; i < count * D; i += kFindThreads) {
    to[i] = prototype_value(range, task.ranges.float64, first * D + i);
  }
  __syncthreads();
}

// The prototype nearest to the middle of a box that a team of threads, a power of two, shares.
struct NearestToMiddle {
  double square = INFINITY;
  uint32_t k = 0;

  __device__ __forceinline__ void take(double other_square, uint32_t other) {
    if (other_square < square || (other_square == square && other < k)) {
      square = other_square;
      k = other;
    }
  }
  __device__ void join(int team) {
    for (int step = team / 2; step > 0; step /= 2) {
      const double other_square = __shfl_xor_sync(~0U, square, step);
      take(other_square, __shfl_xor_sync(~0U, k, step));
    }
  }
};

// Puts the entries of the block's threads into the list; one atomic operation a block.
__device__ void append(const BoxTask& task, bool wanted, const BoxEntry& entry) {
  __shared__ uint32_t count, base;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const uint32_t place = wanted ? atomicAdd(&count, 1U) : 0;
  __syncthreads();
  if (threadIdx.x == 0 && count != 0) base = atomicAdd(task.listed, count);
  __syncthreads();
  if (wanted) task.entries[base + place] = entry;
}

template <int D>
constexpr int kTogether = kFindValues / D;  // prototypes in shared memory

template <int D>
__device__ __forceinline__ void shared_prototype(const double* prototypes, int i, double (&c)[D]) {
#pragma unroll
  for (int j = 0; j < D; ++j) c[j] = prototypes[i * D + j];
}

// A box and the `size` threads that share it.
template <int D>
struct BoxTeam {
  const Box<D>& box;
  int size;
  double* prototypes;  // kTogether<D> of them, of the block
};

// All threads of the block call this and the next.
template <int D>
__device__ __forceinline__ NearestToMiddle find_nearest(const BoxTask& task, const PassRange& range,
                                                        const BoxTeam<D>& team) {
  const auto k = static_cast<int>(range.k);
  NearestToMiddle nearest;
  for (int first = 0; first < k; first += kTogether<D>) {
    const int count = min(k - first, kTogether<D>);
    stage_prototypes<D>(task, range, first, count, team.prototypes);
    for (int i = static_cast<int>(threadIdx.x) % team.size; i < count; i += team.size) {
      double c[D];
      shared_prototype<D>(team.prototypes, i, c);
      nearest.take(square_to_middle<D>(team.box, c), static_cast<uint32_t>(first + i));
    }
  }
  nearest.join(team.size);
  return nearest;
}

// Returns true if another prototype may be as near to a point of the box. find_nearest() staged the prototypes.
template <int D>
__device__ __forceinline__ bool is_mixed(const BoxTask& task, const PassRange& range, const BoxTeam<D>& team,
                                         const NearestToMiddle& nearest) {
  const auto k = static_cast<int>(range.k);
  NearPrototype<D> near;
  load_prototype<D>(task, range, nearest.k, near.c);
  near.compare_by(task.bound, team.box, nearest.square);
  bool mixed = false;
  for (int first = 0; first < k; first += kTogether<D>) {
    const int count = min(k - first, kTogether<D>);
    if (k > kTogether<D>) stage_prototypes<D>(task, range, first, count, team.prototypes);
    for (int i = static_cast<int>(threadIdx.x) % team.size; i < count && !mixed; i += team.size) {
      if (first + i == static_cast<int>(nearest.k)) continue;
      double c[D];
      shared_prototype<D>(team.prototypes, i, c);
      mixed = !falls_out<D>(task.bound, team.box, near, c);
    }
  }
  for (int step = team.size / 2; step > 0; step /= 2) mixed |= __shfl_xor_sync(~0U, static_cast<int>(mixed), step) != 0;
  return mixed;
}

// blockIdx.y is the range; `team` threads, a power of two up to 32, a box.
template <int D>
__global__ void __launch_bounds__(kFindThreads) find_kernel(BoxTask task, int team) {
  if (stopped(task.ranges)) return;
  __shared__ double prototypes[kTogether<D> * D];
  const PassRange range = task.ranges.at[blockIdx.y];
  const int64_t at = static_cast<int64_t>(blockIdx.x) * (kFindThreads / team) + threadIdx.x / team;
  const Box<D> box = load_box<D>(task.rows, min(at, task.rows.count - 1));
  const BoxTeam<D> sharing{box, team, prototypes};
  const NearestToMiddle nearest = find_nearest<D>(task, range, sharing);
  const bool mixed = is_mixed<D>(task, range, sharing, nearest);
  bool wanted = threadIdx.x % team == 0 && at < task.rows.count;
  uint32_t before = kMixedBox;
  if (wanted) {
    uint32_t& label = task.box_labels[range.slot * task.rows.count + at];
    before = label;
    const uint32_t now = mixed ? kMixedBox : nearest.k;
    const bool known = !in_first_pass(task.ranges, range) && before == now;
    wanted = mixed || !known;
    if (!known) label = now;
  }
  append(task, wanted,
         {static_cast<uint32_t>(at), mixed ? 0U : 1U, static_cast<int32_t>(blockIdx.y), nearest.k, before});
}

// d2 of up to four columns: the other lanes of the contract's eight stay zero.
template <int D>
__device__ __forceinline__ double short_distance(const double (&x)[D], const double (&c)[D]) {
  double p[D];
#pragma unroll
  for (int j = 0; j < D; ++j) {
    const double t = __dsub_rn(x[j], c[j]);
    p[j] = __dmul_rn(t, t);
  }
  if constexpr (D == 1) return p[0];
  if constexpr (D == 2) return __dadd_rn(p[0], p[1]);
  if constexpr (D == 3) return __dadd_rn(__dadd_rn(p[0], p[2]), p[1]);
  if constexpr (D == 4) return __dadd_rn(__dadd_rn(p[0], p[2]), __dadd_rn(p[1], p[3]));
}

// The rows of a lane, kRowsPerLane neighbours.
template <int D, class T>
__device__ __forceinline__ void load_rows(const BoxTask& task, int64_t first, double (&x)[kRowsPerLane][D]) {
  struct alignas(16) Part {
    T v[16 / sizeof(T)];
  };
  constexpr int kParts = kRowsPerLane * D * static_cast<int>(sizeof(T)) / 16;
  constexpr int kValues = 16 / static_cast<int>(sizeof(T));
  const auto* from = reinterpret_cast<const Part*>(static_cast<const T*>(task.rows.values) + first * D);
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    const Part part = from[i];
#pragma unroll
    for (int v = 0; v < kValues; ++v) {
      x[(i * kValues + v) / D][(i * kValues + v) % D] = static_cast<double>(part.v[v]);
    }
  }
}

// The labels of a box's rows by canonical distances to the prototypes that do not fall out. Returns how many those are.
template <int D, class T>
__device__ __forceinline__ uint32_t compare(const BoxTask& task, const PassRange& range, const BoxEntry& entry,
                                            int64_t first, uint32_t (&label)[kRowsPerLane]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Box<D> box = load_box<D>(task.rows, entry.box);
  NearPrototype<D> near;
  load_prototype<D>(task, range, entry.nearest, near.c);
  near.compare_by(task.bound, box, square_to_middle<D>(box, near.c));
  double x[kRowsPerLane][D];
  load_rows<D, T>(task, first, x);
  double least[kRowsPerLane];
#pragma unroll
  for (int i = 0; i < kRowsPerLane; ++i) {
    least[i] = INFINITY;
    label[i] = entry.nearest;
  }
  uint32_t candidates = 0;
#pragma unroll 1
  for (int64_t base = 0; base < range.k; base += 32) {
    const int64_t k = base + lane;
    double c[D];
    load_prototype<D>(task, range, min(k, range.k - 1), c);
    const bool stays = k < range.k && !falls_out<D>(task.bound, box, near, c);
    uint32_t left = __ballot_sync(~0U, stays);
    candidates += static_cast<uint32_t>(__popc(static_cast<int>(left)));
    for (; left != 0; left &= left - 1) {  // ascending: the lowest of equals stays
      const int source = __ffs(static_cast<int>(left)) - 1;
      double other[D];
#pragma unroll
      for (int j = 0; j < D; ++j) other[j] = __shfl_sync(~0U, c[j], source);
#pragma unroll
      for (int i = 0; i < kRowsPerLane; ++i) {
        const double d2 = short_distance<D>(x[i], other);
        if (d2 < least[i]) {
          least[i] = d2;
          label[i] = static_cast<uint32_t>(base) + static_cast<uint32_t>(source);
        }
      }
    }
  }
  return candidates;
}

__device__ __forceinline__ void store_four(const LabelRows& labels, int32_t slot, int64_t row,
                                           const uint32_t (&four)[kRowsPerLane]) {
  const int64_t at = slot * labels.stride + row;
  const auto narrow = [&](auto sample, int i) { return static_cast<decltype(sample)>(four[i]); };
  if (labels.width == 1) {
    constexpr unsigned char kByte = 0;
    *reinterpret_cast<uchar4*>(static_cast<uint8_t*>(labels.base) + at) =
        make_uchar4(narrow(kByte, 0), narrow(kByte, 1), narrow(kByte, 2), narrow(kByte, 3));
  } else if (labels.width == 2) {
    constexpr unsigned short kShort = 0;  // NOLINT: the type of the vector's parts
    *reinterpret_cast<ushort4*>(static_cast<uint16_t*>(labels.base) + at) =
        make_ushort4(narrow(kShort, 0), narrow(kShort, 1), narrow(kShort, 2), narrow(kShort, 3));
  } else {
    *reinterpret_cast<uint4*>(static_cast<uint32_t*>(labels.base) + at) =
        make_uint4(four[0], four[1], four[2], four[3]);
  }
}

// The rows of a box whose labels changed, next to each other, so that few rounds of a warp see them.
struct Moves {
  uint32_t from[kBoxRows], to[kBoxRows];
  uint8_t place[kBoxRows];
};

// The sum over the warp, in every lane: 24 bits at a time by the 32-bit reduction.
__device__ __forceinline__ int64_t warp_total(int64_t v) {
  constexpr unsigned kLow = 0xffffffU;
  const unsigned low = __reduce_add_sync(~0U, static_cast<unsigned>(v) & kLow);
  const unsigned middle = __reduce_add_sync(~0U, static_cast<unsigned>(v >> 24) & kLow);
  const int high = __reduce_add_sync(~0U, static_cast<int>(v >> 48));
  return static_cast<int64_t>(low) + (static_cast<int64_t>(middle) << 24) + high * (int64_t{1} << 48);
}

// warp_total() for magnitudes up to 2^kShortBits.
constexpr int kShortBits = 49;
__device__ __forceinline__ int64_t short_warp_total(int64_t v) {
  const unsigned low = __reduce_add_sync(~0U, static_cast<unsigned>(v) & 0xffffffU);
  const int high = __reduce_add_sync(~0U, static_cast<int>(v >> 24));
  return static_cast<int64_t>(low) + high * (int64_t{1} << 24);
}

// Up to 32 rows, a lane each, that enter a cluster and leave another; lanes without a row have kNoLabel.
struct Moving {
  uint32_t from, to;
  int64_t weight;  // as an integer
};

// Lane g * D + j gets limb g of column j of the warp's terms times their signs, which are 1, -1 or 0.
template <int D, int kLimbs, bool kShort>
__device__ __forceinline__ int64_t signed_totals(const ColumnTerms& terms, const double (&y)[D], double sign) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int64_t mine = 0;
#pragma unroll
  for (int j = 0; j < D; ++j) {
    split_term<kLimbs>(terms, __dmul_rn(y[j], sign), [&](int g, int64_t part) {
      const int64_t total = kShort ? short_warp_total(part) : warp_total(part);
      if (lane == g * D + j) mine = total;
    });
  }
  return mine;
}

// Adds a number to each sum of a cluster, then to its weight and its count: a lane each.
template <int D>
__device__ __forceinline__ void add_to_cluster(const BoxTask& task, const PassRange& range, uint32_t cluster,
                                               int64_t value) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int sums = D * task.terms.limbs;
  if (lane >= sums + 2) return;
  long long* at = range.sums + static_cast<int64_t>(cluster) * sums + lane;
  if (lane == sums) at = range.weights + cluster;
  if (lane == sums + 1) at = range.counts + cluster;
  add_to(at, value);
}

// Adds the rows to the clusters that they enter and takes them from those that they leave. Each cluster gets one number
// from the warp; where all rows move between two, what one gets the other loses.
template <int D>
__device__ __forceinline__ void add_moving(const BoxTask& task, const PassRange& range, const double (&y)[D],
                                           const Moving& row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int sums = D * task.terms.limbs;
  const uint32_t all = __ballot_sync(~0U, row.to != kNoLabel);
  uint32_t entering = all;
  uint32_t leaving = __ballot_sync(~0U, row.from != kNoLabel);
  while ((entering | leaving) != 0) {
    const int leader = __ffs(static_cast<int>(entering != 0 ? entering : leaving)) - 1;
    const uint32_t cluster = __shfl_sync(~0U, entering != 0 ? row.to : row.from, leader);
    const uint32_t in = __ballot_sync(~0U, row.to == cluster);
    const uint32_t out = __ballot_sync(~0U, row.from == cluster);
    const uint32_t other = __shfl_sync(~0U, entering != 0 ? row.from : row.to, leader);
    const bool elsewhere = row.to != row.from && row.to != other && row.from != other;
    const bool two = other != kNoLabel && (in | out) == all && !__any_sync(~0U, elsewhere);
    entering = two ? 0 : entering & ~in;
    leaving = two ? 0 : leaving & ~out;
    const double sign = row.to == cluster ? 1 : (row.from == cluster ? -1 : 0);
    // Floats usually have two limbs.
    int64_t value = task.terms.limbs == 2 && task.terms.bits <= kShortBits
                        ? signed_totals<D, 2, true>(task.terms, y, sign)
                        : signed_totals<D, 0, false>(task.terms, y, sign);
    const int64_t count = __popc(static_cast<int>(in)) - __popc(static_cast<int>(out));
    const int64_t weight =
        task.rows.weights == nullptr ? count : warp_total(sign > 0 ? row.weight : (sign < 0 ? -row.weight : 0));
    if (lane == sums) value = weight;
    if (lane == sums + 1) value = count;
    add_to_cluster<D>(task, range, cluster, value);
    if (two) add_to_cluster<D>(task, range, other, -value);
  }
}

template <int D, class T>
__device__ __forceinline__ void add_row(const BoxTask& task, const PassRange& range, int64_t place, uint32_t from,
                                        uint32_t to) {
  const double weight = task.rows.weights == nullptr ? 1 : task.rows.weights[place];
  double y[D];
#pragma unroll
  for (int j = 0; j < D; ++j) {
    auto v = static_cast<double>(static_cast<const T*>(task.rows.values)[place * D + j]);
    if (task.rows.weights != nullptr) v = __dmul_rn(weight, v);
    y[j] = scaled_term(task.terms, v, top_of(task.terms, j), j);
  }
  add_moving<D>(task, range, y, {from, to, integer_weight(task.rows.weights, task.weight_shift, place)});
}

// A warp's results for one range.
struct Tally {
  unsigned long long candidates = 0;
  uint32_t changed = 0, resolved = 0;
  LabelSumWords hash;

  __device__ void flush(PassCounters& counters) {
    hash = warp_sum(hash);
    if (threadIdx.x % 32 == 0) {
      if (hash.low != 0 || hash.high != 0) {
        atomic_add_128(&counters.hash_low, &counters.hash_high, hash.low, hash.high);
      }
      if (changed != 0) atomicAdd(&counters.changed, static_cast<unsigned long long>(changed));
      if (resolved != 0) atomicAdd(&counters.resolved, static_cast<unsigned long long>(resolved));
      if (candidates != 0) atomicAdd(&counters.candidates, candidates);
    }
    *this = Tally();
  }
};

// A warp at work on entries of one range.
struct BoxWarp {
  const PassRange& range;
  bool first_pass;
  Moves& moves;
  Tally& tally;
};

// All rows of a box get one label, and all had another, or none: the box's own sums are theirs.
template <int D>
__device__ __forceinline__ void move_box(const BoxTask& task, const BoxWarp& warp, const BoxEntry& entry) {
  const auto& [range, first_pass, moves, tally] = warp;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int sums = D * task.terms.limbs;
  const int64_t base = static_cast<int64_t>(entry.box) * kBoxRows;
  const int64_t rows = min(task.rows.n - base, kBoxRows);
  const uint32_t label[kRowsPerLane] = {entry.nearest, entry.nearest, entry.nearest, entry.nearest};
  store_four(task.labels, range.slot, base + lane * kRowsPerLane, label);
  int64_t value = rows;
  if (lane <= sums) value = task.rows.sums[lane * task.rows.count + entry.box];
  add_to_cluster<D>(task, range, entry.nearest, value);
  tally.changed += static_cast<uint32_t>(rows);
  if (first_pass) return;
  add_to_cluster<D>(task, range, entry.before, -value);
  for (int64_t place = base + lane; place < base + rows; place += 32) {
    const int64_t row = task.rows.number + task.rows.order[place];
    tally.hash.add(device_label_term(row, entry.nearest));
    tally.hash.subtract(device_label_term(row, entry.before));
  }
}

// Writes the new labels of a box and adds up the rows that changed.
template <int D, class T>
__device__ __forceinline__ void apply(const BoxTask& task, const BoxWarp& warp, int64_t base,
                                      const uint32_t (&label)[kRowsPerLane]) {
  const auto& [range, first_pass, moves, tally] = warp;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t first = base + lane * kRowsPerLane;
  uint32_t before[kRowsPerLane] = {kNoLabel, kNoLabel, kNoLabel, kNoLabel};
  if (!first_pass) load_four(task.labels, range.slot, first, before);
  int count = 0;
  bool any = false;
#pragma unroll
  for (int i = 0; i < kRowsPerLane; ++i) {
    const bool changed = before[i] != label[i] && first + i < task.rows.n;
    const uint32_t mask = __ballot_sync(~0U, changed);
    any = any || changed;
    if (changed) {
      const int at = count + __popc(static_cast<int>(mask & ((1U << lane) - 1)));
      moves.from[at] = before[i];
      moves.to[at] = label[i];
      moves.place[at] = static_cast<uint8_t>(lane * kRowsPerLane + i);
    }
    count += __popc(static_cast<int>(mask));
  }
  if (count == 0) return;
  if (any) store_four(task.labels, range.slot, first, label);
  tally.changed += static_cast<uint32_t>(count);
  __syncwarp();
  for (int at = lane; at < (count + 31) / 32 * 32; at += 32) {
    const bool here = at < count;
    const uint32_t from = here ? moves.from[at] : kNoLabel;
    const uint32_t to = here ? moves.to[at] : kNoLabel;
    const int64_t place = base + (here ? moves.place[at] : 0);
    if (here && !first_pass) {
      const int64_t row = task.rows.number + task.rows.order[place];
      tally.hash.add(device_label_term(row, to));
      tally.hash.subtract(device_label_term(row, from));
    }
    add_row<D, T>(task, range, place, from, to);
  }
  __syncwarp();
}

template <int D, class T>
__device__ __forceinline__ void look_into(const BoxTask& task, const BoxWarp& warp, const BoxEntry& entry) {
  if (entry.whole != 0 && (warp.first_pass || entry.before != kMixedBox)) return move_box<D>(task, warp, entry);
  const int64_t base = static_cast<int64_t>(entry.box) * kBoxRows;
  uint32_t label[kRowsPerLane] = {entry.nearest, entry.nearest, entry.nearest, entry.nearest};
  if (entry.whole == 0) {
    const int64_t first = base + threadIdx.x % 32 * kRowsPerLane;
    const uint32_t candidates = compare<D, T>(task, warp.range, entry, first, label);
    const auto rows = static_cast<uint32_t>(min(task.rows.n - base, kBoxRows));
    warp.tally.resolved += rows;
    warp.tally.candidates += static_cast<unsigned long long>(rows) * candidates;
  }
  apply<D, T>(task, warp, base, label);
}

// Blocks that a multiprocessor holds at once: as many as there are registers for.
constexpr int resident_blocks(int d) {
  return d <= 2 ? 6 : 4;
}
constexpr uint32_t kMaxRun = 4;

// A warp takes runs of entries, which are mostly of one range.
template <int D, class T>
__global__ void __launch_bounds__(kThreads, resident_blocks(D)) rows_kernel(BoxTask task) {
  if (stopped(task.ranges)) return;
  __shared__ Moves all_moves[kWarps];
  __shared__ PassRange all_ranges[kWarps];  // where they take no registers
  const unsigned warp = threadIdx.x / 32;
  PassRange& range = all_ranges[warp];
  const uint32_t count = *task.listed;
  const uint32_t warps = gridDim.x * kWarps;
  const uint32_t run = min(max(count / warps, 1U), kMaxRun);
  int32_t current = -1;
  bool first_pass = false;
  Tally tally;
  for (uint32_t start = (blockIdx.x * kWarps + warp) * run; start < count; start += warps * run) {
    for (uint32_t i = start; i < min(start + run, count); ++i) {
      const BoxEntry entry = task.entries[i];
      if (entry.range != current) {
        if (current >= 0) tally.flush(task.ranges.counters[current]);
        current = entry.range;
        __syncwarp();
        if (threadIdx.x % 32 == 0) range = task.ranges.at[current];
        __syncwarp();
        first_pass = in_first_pass(task.ranges, range);
      }
      look_into<D, T>(task, {range, first_pass, all_moves[warp], tally}, entry);
    }
  }
  if (current >= 0) tally.flush(task.ranges.counters[current]);
}

// Threads for a box: more for few boxes and many prototypes.
int team_of(const BoxTask& task, int multiprocessors) {
  const int64_t pairs = task.rows.count * task.ranges.count;
  int team = 1;
  while (team < 32 && team * 4 <= task.ranges.max_clusters && pairs * team < int64_t{2048} * multiprocessors) team *= 2;
  return team;
}

template <int D>
void launch(const BoxTask& task, int multiprocessors, cudaStream_t stream) {
  const int team = team_of(task, multiprocessors);
  const int64_t blocks = (task.rows.count * team + kFindThreads - 1) / kFindThreads;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(task.ranges.count));
  find_kernel<D><<<grid, kFindThreads, 0, stream>>>(task, team);
  check_launch("comparing boxes");
  const int64_t most = (task.rows.count * task.ranges.count + kWarps - 1) / kWarps;
  const auto row_blocks = static_cast<unsigned>(std::min<int64_t>(most, int64_t{resident_blocks(D)} * multiprocessors));
  if (task.rows.float64) {
    rows_kernel<D, double><<<row_blocks, kThreads, 0, stream>>>(task);
  } else {
    rows_kernel<D, float><<<row_blocks, kThreads, 0, stream>>>(task);
  }
  check_launch("looking into boxes");
}

template <int D>
void find_columns(const BoxTask& task, int multiprocessors, cudaStream_t stream) {
  if (task.rows.d == D) return launch<D>(task, multiprocessors, stream);
  if constexpr (D < kMaxBoxColumns) find_columns<D + 1>(task, multiprocessors, stream);
}

template <class T>
__global__ void unbox_kernel(const uint32_t* order, int64_t n, const T* labels, T* to) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t place = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; place < n; place += stride) {
    to[order[place]] = labels[place];
  }
}

template <class T>
void unbox(const BoxedRows& rows, const LabelRows& labels, int slot, void* to, cudaStream_t stream) {
  unbox_kernel<<<grid_for(rows.n, kFindThreads), kFindThreads, 0, stream>>>(
      rows.order, rows.n, static_cast<const T*>(labels.base) + slot * labels.stride, static_cast<T*>(to));
  check_launch("putting labels in order");
}

// Looks for the row's place.
__global__ void set_kernel(BoxTask task, int slot, uint32_t row, uint32_t label) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t at = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; at < task.rows.n; at += stride) {
    if (task.rows.order[at] != row) continue;
    store_label(task.labels, slot, at, label);
    task.box_labels[slot * task.rows.count + at / kBoxRows] = kMixedBox;
  }
}

}  // namespace

void box_pass(const BoxTask& task, int multiprocessors, cudaStream_t stream) {
  find_columns<1>(task, multiprocessors, stream);
}

void unbox_labels(const BoxedRows& rows, const LabelRows& labels, int slot, void* to, cudaStream_t stream) {
  switch (labels.width) {
    case 1: return unbox<uint8_t>(rows, labels, slot, to, stream);
    case 2: return unbox<uint16_t>(rows, labels, slot, to, stream);
    default: return unbox<uint32_t>(rows, labels, slot, to, stream);
  }
}

void set_boxed_label(const BoxTask& task, int slot, int64_t row, uint32_t label, cudaStream_t stream) {
  set_kernel<<<grid_for(task.rows.n, kFindThreads), kFindThreads, 0, stream>>>(task, slot, static_cast<uint32_t>(row),
                                                                               label);
  check_launch("moving a row");
}

}  // namespace manymeans::cuda
