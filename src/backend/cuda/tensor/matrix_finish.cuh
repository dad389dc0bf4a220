// The end of a model: what four threads know of a row becomes a label, a list of candidates, or a mark.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/margins/carried_margins.h"
#include "backend/cuda/tensor/matrix_task.h"
#include "backend/cuda/tensor/top_two.cuh"

#include <cstdint>

namespace manymeans::cuda {

__device__ __forceinline__ bool is_stopped(const PackedColumns& columns) {
  return columns.stopped != nullptr && *columns.stopped != 0;
}

// The code below has two sorts of rows: all rows, and rows that the device counts, which get margins too. The first
// sort pays nothing for this.
template <bool kCounted>
__device__ __forceinline__ bool is_there(const MatrixTask& task, int64_t row) {
  return row < (kCounted ? *task.counted.count : task.points.rows);
}

// The number among all of a row that is there.
template <bool kCounted>
__device__ __forceinline__ int64_t number_of(const MatrixTask& task, int64_t row) {
  return kCounted && task.counted.numbers != nullptr ? task.counted.numbers[row] : row;
}

__device__ __forceinline__ const TileTerms& terms_of(const PackedColumns& columns, int32_t tile) {
  return *reinterpret_cast<const TileTerms*>(columns.terms + tile * tile_floats(columns.tile_columns) +
                                             columns.tile_columns);
}

// The column among all of a thread's best or second score.
__device__ __forceinline__ int32_t column_of(const MatrixTask& task, float score, int32_t tile, int lane_of_row) {
  const auto place = static_cast<int>(__float_as_uint(score) & ~task.place_mask);
  return tile * task.columns.tile_columns + column_of_place(place, lane_of_row);
}

__device__ __forceinline__ void mark_row(const ScreenOutput& output, int32_t range, int64_t row) {
  atomicOr(output.marks + range * output.mark_stride + row / 32, 1U << (row % 32));
  if (output.marked != nullptr) *output.marked = 1;
}

__device__ __forceinline__ void overflow_row(const ScreenOutput& output, int32_t range, uint32_t slot, int64_t row,
                                             float lower) {
  if (slot >= output.overflow.capacity) return mark_row(output, range, row);
  output.overflow.rows[static_cast<int64_t>(range) * output.overflow.capacity + slot] = {static_cast<int32_t>(row),
                                                                                         lower};
}

// Places for a warp's entries, one for each bit; called by whole warps.
__device__ __forceinline__ uint32_t reserve(uint32_t* count, uint32_t bits) {
  uint32_t base = 0;
  if (threadIdx.x % 32 == 0 && bits != 0) base = atomicAdd(count, static_cast<uint32_t>(__popc(bits)));
  return __shfl_sync(~0U, base, 0);
}

// Entries of the list: `left` from `first` on, the others from `next` on.
struct Entries {
  uint32_t first;
  uint32_t left;
  uint32_t next;

  __device__ __forceinline__ uint32_t operator[](uint32_t i) const { return i < left ? first + i : next + (i - left); }
};

// A warp's entries of the list. If there is much to list, a warp reserves pieces: one counter could not serve every
// warp after every tile in time.
class WarpEntries {
 public:
  __device__ __forceinline__ Entries take(const MatrixTask& task, uint32_t count) {
    // With less, what is left over would be more than what is used.
    constexpr int kManyModels = 8;
    constexpr int64_t kManyRows = int64_t{1} << 21;
    Entries taken{next_, end_ - next_, 0};
    if (count <= taken.left) {
      next_ += count;
      return taken;
    }
    const uint32_t missing = count - taken.left;
    const bool in_pieces = task.columns.models >= kManyModels || task.points.rows >= kManyRows;
    const uint32_t piece = in_pieces ? kPiece : missing;
    if (threadIdx.x % 32 == 0) taken.next = atomicAdd(task.output.few_count, piece);
    taken.next = __shfl_sync(~0U, taken.next, 0);
    next_ = taken.next + missing;
    end_ = taken.next + piece;
    return taken;
  }

  // Entries that were reserved and not used get count 0.
  __device__ __forceinline__ void end(const MatrixTask& task) const {
    const uint32_t slot = next_ + threadIdx.x % 32;
    if (slot >= min(end_, task.output.few_capacity)) return;
    task.output.few[slot].range = 0;
    task.output.few[slot].count = 0;
  }

 private:
  static constexpr uint32_t kPiece = 32;
  uint32_t next_ = 0;
  uint32_t end_ = 0;
};

// Where a warp's rows go that are not proved. Bit 4 i + r is of row r of the i-th four threads.
struct ReservedPlaces {
  uint32_t few;
  uint32_t overflowing;
  Entries entries;
  uint32_t overflow_base;  // among the range's overflow rows

  // Returns the entry of a row of few candidates. Returns null if the row overflowed or found no room: the first of the
  // four threads handles both. `bit`: the row's.
  __device__ __forceinline__ FewRow* entry(const ScreenOutput& output, int32_t range, int bit, int64_t row,
                                           float lower) const {
    const bool first = threadIdx.x % 4 == 0;
    const uint32_t below = (1U << bit) - 1;
    if (overflowing >> bit & 1) {
      const uint32_t place = overflow_base + static_cast<uint32_t>(__popc(overflowing & below));
      if (first) overflow_row(output, range, place, row, lower);
      return nullptr;
    }
    const uint32_t slot = entries[static_cast<uint32_t>(__popc(few & below))];
    if (slot < output.few_capacity) return output.few + slot;
    if (first) mark_row(output, range, row);
    return nullptr;
  }
};

__device__ __forceinline__ uint32_t reserve_overflow(const ScreenOutput& output, int32_t range, uint32_t overflowing) {
  return output.overflow.capacity == 0 ? 0 : reserve(output.overflow.counts + range, overflowing);
}

// The two rows of a thread. Four threads share them, with a quarter of the columns each. A thread's epilogue begins
// anew for each of its tiles of rows, and ends with the kernel.
struct TwoRows {
  RowState rows[2];
  float radii[2];
  float norm;         // of the row that this thread finishes: odd threads have the second
  int64_t first_row;  // the other is 8 on
  WarpEntries entries;

  __device__ __forceinline__ void begin(const MatrixTask& task, int64_t first) {
    first_row = first;
#pragma unroll
    for (int r = 0; r < 2; ++r) radii[r] = task.points.radii[row_of(task, r)];
    norm = task.points.norms[row_of(task, static_cast<int>(threadIdx.x % 2))];
  }
  __device__ __forceinline__ void end(const MatrixTask& task) const { entries.end(task); }
  // Beyond the last row the last.
  __device__ __forceinline__ int64_t row_of(const MatrixTask& task, int r) const {
    return min(first_row + 8 * r, task.points.rows - 1);
  }
};

// Rows that are not proved: a list entry of all columns that reach `lower`, or an overflow row. Called by whole warps,
// for the two rows of each four threads; `judged`: bit 4 i + r is set if row r of the i-th four is not proved; lane 4 i
// + r knows its `lower`.
template <bool kCounted>
__device__ __forceinline__ void list_rows(const MatrixTask& task, TwoRows& two, int32_t range, uint32_t judged,
                                          float lower) {
  const RowState(&rows)[2] = two.rows;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int quad = lane & ~3;
  float lowers[2];
  uint32_t bests[2];
  uint32_t seconds[2];
  uint32_t few = 0;          // as `judged`
  uint32_t overflowing = 0;  // likewise
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float reach = lowers[r] = __shfl_sync(~0U, lower, quad + r);
    const bool wanted = judged >> (quad + r) & 1;
    // Written so that NaN is a candidate.
    bests[r] = __ballot_sync(~0U, wanted && !(rows[r].best < reach)) >> quad & 0xF;
    seconds[r] = __ballot_sync(~0U, wanted && !(rows[r].second < reach)) >> quad & 0xF;
    const bool many = (__ballot_sync(~0U, wanted && !(rows[r].rest < reach)) >> quad & 0xF) != 0;
    few |= __ballot_sync(~0U, wanted && !many && lane == quad) << r;
    overflowing |= __ballot_sync(~0U, wanted && many && lane == quad) << r;
  }
  const ReservedPlaces places{few, overflowing, two.entries.take(task, static_cast<uint32_t>(__popc(few))),
                              reserve_overflow(task.output, range, overflowing)};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if ((judged >> (quad + r) & 1) == 0) continue;
    const int64_t row = number_of<kCounted>(task, two.first_row + 8 * r);
    FewRow* found = places.entry(task.output, range, quad + r, row, lowers[r]);
    if (found == nullptr) continue;
    FewRow& entry = *found;
    const uint32_t before = (1U << (lane - quad)) - 1;
    int at = __popc(bests[r] & before) + __popc(seconds[r] & before);
    if (bests[r] >> (lane - quad) & 1) {
      entry.candidates[at++] = task.columns.order[column_of(task, rows[r].best, rows[r].best_tile, lane - quad)];
    }
    if (seconds[r] >> (lane - quad) & 1) {
      entry.candidates[at] = task.columns.order[column_of(task, rows[r].second, rows[r].second_tile, lane - quad)];
    }
    if (lane == quad) {
      entry.row = row;
      entry.range = range;
      entry.count = __popc(bests[r]) + __popc(seconds[r]);
    }
  }
}

// A thread's result for a row, which it tells the three others.
struct BestTwo {
  float best;
  float second;
  int32_t place;  // of best: 4 times its tile, and which of the four threads

  // The lower place of equal scores wins for counted rows. So the thread that says it does not matter: such rows are
  // elsewhere in every pass.
  template <bool kCounted>
  static __device__ __forceinline__ bool wins(float a, int32_t place_of_a, float b, int32_t place_of_b) {
    return a > b || (kCounted && a == b && place_of_a < place_of_b);
  }

  template <bool kCounted>
  __device__ __forceinline__ void meet(int distance) {
    const float best_there = __shfl_xor_sync(~0U, best, distance);
    const float second_there = __shfl_xor_sync(~0U, second, distance);
    const int32_t place_there = __shfl_xor_sync(~0U, place, distance);
    second = fmaxf(fmaxf(second, second_there), fminf(best, best_there));
    place = wins<kCounted>(best_there, place_there, best, place) ? place_there : place;
    best = fmaxf(best, best_there);
  }
};

// Joins two rows of four threads: odd threads get the second row, the others the first. Two threads with the same best
// may name different places: then second = best, and nothing is proved.
template <bool kCounted = false>
__device__ __forceinline__ BestTwo join_rows(const BestTwo (&both)[2]) {
  const bool odd = threadIdx.x % 2 != 0;
  BestTwo mine{odd ? both[1].best : both[0].best, odd ? both[1].second : both[0].second,
               odd ? both[1].place : both[0].place};
  const BestTwo other{odd ? both[0].best : both[1].best, odd ? both[0].second : both[1].second,
                      odd ? both[0].place : both[1].place};
  // The neighbour gets the row that it takes, and gives the other.
  const float best_there = __shfl_xor_sync(~0U, other.best, 1);
  const float second_there = __shfl_xor_sync(~0U, other.second, 1);
  const int32_t place_there = __shfl_xor_sync(~0U, other.place, 1);
  mine.second = fmaxf(fmaxf(mine.second, second_there), fminf(mine.best, best_there));
  mine.place = BestTwo::wins<kCounted>(best_there, place_there, mine.best, mine.place) ? place_there : mine.place;
  mine.best = fmaxf(mine.best, best_there);
  mine.meet<kCounted>(2);
  return mine;
}

// slack * n^2 + underflow, rounded upwards.
__device__ __forceinline__ float canonical_share(float norm, float slack, float underflow) {
  return __fmaf_ru(__fmul_ru(slack, norm), norm, underflow);
}

// u_b - 2 e_b - (slack * n^2 + underflow), rounded downwards.
__device__ __forceinline__ float lower_score(float best, float bound, float norm, float slack, float underflow) {
  return __fadd_rd(__fmaf_rd(-2.0F, bound, best), -canonical_share(norm, slack, underflow));
}

__device__ __forceinline__ float* lower_at(const ScoreThresholds& thresholds, int32_t slot, int64_t row) {
  return thresholds.lowers + slot * thresholds.stride + row;
}

// Finishes two rows of four threads: odd threads take the second row, the others the first. `terms` and `order` are of
// the model's last tile, `tile`.
template <bool kCounted>
__device__ __forceinline__ void finish_rows(const MatrixTask& task, TwoRows& two, const TileTerms& terms,
                                            const uint32_t* order, int32_t tile) {
  const RowState(&rows)[2] = two.rows;
  const int lane_of_row = static_cast<int>(threadIdx.x % 4);
  const bool odd = lane_of_row % 2 != 0;
  const int64_t at = two.first_row + (odd ? 8 : 0);
  const bool exists = is_there<kCounted>(task, at);

  const BestTwo mine =
      join_rows<kCounted>({{rows[0].best, fmaxf(rows[0].second, rows[0].rest), rows[0].best_tile * 4 + lane_of_row},
                           {rows[1].best, fmaxf(rows[1].second, rows[1].rest), rows[1].best_tile * 4 + lane_of_row}});

  const int32_t best_tile = mine.place / 4;
  const bool here = best_tile == tile;
  const TileTerms& of_best = here ? terms : terms_of(task.columns, best_tile);
  const float bound = score_bound(of_best, odd ? two.radii[1] : two.radii[0]);
  const float lower = lower_score(mine.best, bound, two.norm, terms.slack, terms.underflow);
  const bool proved = lower > mine.second;
  const int64_t row = kCounted && exists ? number_of<kCounted>(task, at) : at;
  if (task.output.thresholds.lowers != nullptr && exists && lane_of_row < 2) {
    *lower_at(task.output.thresholds, terms.slot, row) = lower;
  }
  if (proved && exists && lane_of_row < 2) {
    const auto place = static_cast<int>(__float_as_uint(mine.best) & ~task.place_mask);
    const int column = column_of_place(place, mine.place % 4);
    const uint32_t label =
        here ? order[column] : __ldg(task.columns.order + best_tile * task.columns.tile_columns + column);
    store_label(task.output.labels, terms.slot, row, label);
    if (kCounted) task.counted.margins[row] = margin_of(lower, mine.second, two.norm, task.counted.slack);
  }
  const uint32_t judged = __ballot_sync(~0U, !proved && exists) & 0x33333333U;
  if (judged != 0) list_rows<kCounted>(task, two, terms.range, judged, lower);
}

// The best two of some of a tile's scores enter what a thread knows of a row.
__device__ __forceinline__ void merge_scores(RowState& state, const TopTwo& scores, float bound, uint32_t mask,
                                             int32_t tile) {
  const float upper = with_place(__fadd_ru(scores.best, bound), mask, __float_as_uint(scores.best) & ~mask);
  state.take(upper, __fadd_ru(scores.second, bound), tile);
}

// Proves a thread's two rows by their scores, tile by tile.
template <bool kCounted>
struct ProveRows : TwoRows {
  __device__ __forceinline__ void begin(const MatrixTask& task, int /*range*/, int64_t first) {
    TwoRows::begin(task, first);
    rows[0].clear();
    rows[1].clear();
  }

  // terms: the tile's; order: its prototypes.
  template <int kColumns>
  __device__ __forceinline__ void take_tile(const MatrixTask& task, const Sums<1, kColumns>& sums, const float* terms,
                                            const uint32_t* order, int32_t tile) {
    TopTwo scores[2];
    tile_top_two<kColumns, 1, Places::kOwn>(sums, terms, static_cast<int>(threadIdx.x % 4), task.place_mask, scores);
    const auto& shared_terms = *reinterpret_cast<const TileTerms*>(terms + kColumns);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      merge_scores(rows[r], scores[r], score_bound(shared_terms, radii[r]), task.place_mask, tile);
    }
    if (shared_terms.range < 0) return;
    finish_rows<kCounted>(task, *this, shared_terms, order, tile);
    rows[0].clear();
    rows[1].clear();
  }
};

}  // namespace manymeans::cuda
