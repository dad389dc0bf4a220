// Models of at most 64 prototypes are one tile of columns each: at the end of a model all scores of a row are still
// there. So nothing is kept from tile to tile, and bits of scores identify columns until the end. A row that is not
// proved gets all columns that may be nearest by a second look at its scores. Ensembles of small models spend most of
// their time here.
#pragma once

#include "backend/cuda/tensor/matrix_finish.cuh"

#include <cstdint>

namespace manymeans::cuda {

// Proves kHalves times 16 rows of a warp. A thread has a quarter of the scores of two rows of each half. Four threads
// share them: thread 2 h + r judges row r of half h.
template <int kHalves>
class ProveOneTile {
 public:
  __device__ __forceinline__ void begin(const MatrixTask& task, int /*range*/, int64_t first) {
    first_row_ = first;
    const int64_t row = row_of(lane_of_row());
    judges_ = lane_of_row() < kRows && row < task.points.rows;
    const int64_t there = min(row, task.points.rows - 1);
    radius_ = task.points.radii[there];
    norm_ = task.points.norms[there];
  }

  template <int kWidth>
  __device__ __forceinline__ void take_tile(const MatrixTask& task, const Sums<kHalves, kWidth>& sums,
                                            const float* terms, const uint32_t* /*order*/, int32_t /*tile*/) {
    static_assert(kWidth == kColumns);
    const auto& of_model = *reinterpret_cast<const TileTerms*>(terms + kColumns);
    const TopTwo mine = best_of_row(task, sums, terms);
    const float bound = score_bound(of_model, radius_);
    const float lower =
        __fadd_rd(mine.best, -__fadd_ru(bound, canonical_share(norm_, of_model.slack, of_model.underflow)));
    const bool proved = lower > __fadd_ru(mine.second, bound);
    if (proved && judges_) {
      store_label(task.output.labels, of_model.slot, row_of(lane_of_row()), __float_as_uint(mine.best) & kPlaces);
    }
    const uint32_t judged = __ballot_sync(~0U, !proved && judges_);
    if (judged != 0) list_rows(task, sums, terms, {judged, lower, __fadd_rd(lower, -bound)});
  }

  __device__ __forceinline__ void end(const MatrixTask& task) const { entries_.end(task); }

 private:
  static constexpr int kRows = 2 * kHalves;  // that a thread knows of
  static constexpr int kColumns = kOneTile;
  static constexpr uint32_t kPlaces = kColumns - 1;
  static_assert(kPlaces <= 63, "the bound pays for six bits");
  using Scores = Sums<kHalves, kColumns>;

  static __device__ __forceinline__ int lane_of_row() { return static_cast<int>(threadIdx.x % 4); }
  __device__ __forceinline__ int64_t row_of(int i) const { return first_row_ + i / 2 * 64 + i % 2 * 8; }

  // Returns the best two scores of the row that this thread judges; the best has its column in its lowest bits. Places
  // of own columns leave two bits free, which tell the four threads apart.
  static __device__ __forceinline__ TopTwo best_of_row(const MatrixTask& task, const Scores& sums, const float* terms) {
    TopTwo rows[kRows];
    const uint32_t mask = task.place_mask << 2;  // ~kPlaces, which must not be known: with_place()
    tile_top_two<kColumns, kHalves, Places::kColumn>(sums, terms, lane_of_row(), mask, rows);
    const auto own = static_cast<uint32_t>(lane_of_row() * 2);
#pragma unroll
    for (TopTwo& row : rows) row.best = with_bits(row.best, own);
    // The neighbour gets the rows that it judges, and gives the others.
    TopTwo of_half[kHalves];
#pragma unroll
    for (int h = 0; h < kHalves; ++h) of_half[h] = exchanged(rows[2 * h], rows[2 * h + 1], 1);
    if constexpr (kHalves == 2) return exchanged(of_half[0], of_half[1], 2);
    return top_two(of_half[0], from_lane(of_half[0], 2));
  }

  static __device__ __forceinline__ TopTwo from_lane(const TopTwo& a, int distance) {
    return {__shfl_xor_sync(~0U, a.best, distance), __shfl_xor_sync(~0U, a.second, distance)};
  }
  // Threads with this bit take the second row, the others the first.
  static __device__ __forceinline__ TopTwo exchanged(const TopTwo& first, const TopTwo& second, unsigned bit) {
    const bool other = (threadIdx.x & bit) != 0;
    const TopTwo kept{other ? second.best : first.best, other ? second.second : first.second};
    const TopTwo given{other ? first.best : second.best, other ? first.second : second.second};
    return top_two(kept, from_lane(given, static_cast<int>(bit)));
  }

  // Rows of a warp that are not proved.
  struct Unproved {
    uint32_t judged;  // bit `lane` is that thread's row
    float lower;      // of this thread's row
    float limit;      // of this thread's row; lower scores are of columns that cannot be nearest
  };

  // Entries of the list, or overflow rows, for what is not proved. Called by whole warps.
  __device__ __forceinline__ void list_rows(const MatrixTask& task, const Scores& sums, const float* terms,
                                            const Unproved& unproved) {
    const auto& [judged, lower, limit] = unproved;
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int quad = lane & ~3;
    const int32_t range = reinterpret_cast<const TileTerms*>(terms + kColumns)->range;
    uint64_t reached = 0;  // columns of each row, 16 bits each
    uint32_t own = 0;      // how many, a byte each
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if ((judged & of_all(i)) == 0) continue;
      const float limit_of_row = __shfl_sync(~0U, limit, quad + i);
      if ((judged >> (quad + i) & 1) == 0) continue;
      const uint32_t found = columns_above(sums[i / 2], i % 2, terms, limit_of_row);
      reached |= static_cast<uint64_t>(found) << (16 * i);
      own |= static_cast<uint32_t>(__popc(found)) << (8 * i);
    }
    uint32_t until = own;  // of this thread and those before it
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
      const uint32_t before = __shfl_up_sync(~0U, until, step, 4);
      if (lane - quad >= step) until += before;
    }
    const uint32_t all = __shfl_sync(~0U, until, quad + 3);
    const bool mine = (judged >> lane & 1) != 0;
    // No row has none (docs/developer/screens.md), but an entry of none would be taken for no entry.
    const bool many = (all >> (8 * (lane - quad)) & 0xFF) - 1 >= kMaxCandidates;
    const uint32_t few = __ballot_sync(~0U, mine && !many);
    const uint32_t overflowing = __ballot_sync(~0U, mine && many);
    const ReservedPlaces places{few, overflowing, entries_.take(task, static_cast<uint32_t>(__popc(few))),
                                reserve_overflow(task.output, range, overflowing)};
#pragma unroll 1
    for (int i = 0; i < kRows; ++i) {
      if ((judged & of_all(i)) == 0) continue;
      const float lower_of_row = __shfl_sync(~0U, lower, quad + i);
      if ((judged >> (quad + i) & 1) == 0) continue;
      FewRow* entry = places.entry(task.output, range, quad + i, row_of(i), lower_of_row);
      if (entry == nullptr) continue;
      auto at = static_cast<int>((until - own) >> (8 * i) & 0xFF);
      for (auto left = static_cast<uint32_t>(reached >> (16 * i) & 0xFFFF); left != 0; left &= left - 1) {
        const int place = __ffs(static_cast<int>(left)) - 1;
        entry->candidates[at++] = static_cast<uint32_t>(column_of_place(place, lane - quad));
      }
      if (lane == quad) {
        entry->row = row_of(i);
        entry->range = range;
        entry->count = static_cast<int32_t>(all >> (8 * i) & 0xFF);
      }
    }
  }

  // Row i of all fours of a warp.
  static constexpr __device__ uint32_t of_all(int i) { return 0x11111111U << i; }

  // Bit p: the score at place p of row r is not below the limit; so that NaN counts.
  static __device__ __forceinline__ uint32_t columns_above(const float (&sums)[kColumns / 2], int r, const float* terms,
                                                           float limit) {
    const float limits[1] = {limit};
    uint32_t reached[1] = {0};
    find_reached<kColumns>(sums, r, terms, limits, reached);
    return reached[0];
  }

  int64_t first_row_;  // row r of half h is 64 h + 8 r on
  float radius_;       // of the row that this thread judges
  float norm_;         // likewise
  bool judges_;        // there is such a row
  WarpEntries entries_;
};

}  // namespace manymeans::cuda
