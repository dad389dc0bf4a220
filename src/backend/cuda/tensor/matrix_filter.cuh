// The epilogue of the tensor-core screen where a pass came before: only columns that may matter are ranked.
//
// A row's best score seldom falls by much from one pass to the next. So nearly all columns are below its threshold, the
// score that it can be expected to reach. The test takes four columns at a time. It uses only their largest sum and the
// largest offset of 16 columns, which are neighbours by norm. It takes less than two instructions a column instead of
// five, and none at the end of a tile. The threshold counts as an upper score of all columns that were passed over. So
// a row that does not reach it is simply not proved.
#pragma once

#include "backend/cuda/tensor/matrix_finish.cuh"

#include <cstdint>

namespace manymeans::cuda {

struct FilterRows : TwoRows {
  float thresholds[2];

  __device__ __forceinline__ void begin(const MatrixTask& task, int /*range*/, int64_t first) {
    TwoRows::begin(task, first);
    begin_model(task, *task.columns.ranges, 0);
  }

  template <int kColumns>
  __device__ __forceinline__ void take_tile(const MatrixTask& task, const Sums<1, kColumns>& sums, const float* terms,
                                            const uint32_t* order, int32_t tile) {
    const auto& shared_terms = *reinterpret_cast<const TileTerms*>(terms + kColumns);
    float bounds[2];
    float limits[2];  // of scores; what is not above them has no upper score above the threshold
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      bounds[r] = score_bound(shared_terms, radii[r]);
      limits[r] = __fadd_rd(thresholds[r], -bounds[r]);
    }
    const uint32_t reached = groups_above<kColumns>(sums, terms + kColumns + kTermFloats, limits);
    const auto* offsets = reinterpret_cast<const float4*>(terms) + threadIdx.x % 4;
#pragma unroll
    for (int group = 0; group < kColumns / 16; ++group) {
      if ((reached >> (2 * group) & 3) == 0) continue;
      const float4 four = load_offsets(offsets + group * 4);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if ((reached >> (2 * group + r) & 1) == 0) continue;
        const float v[4] = {
            __fadd_rn(sums[0][group * 8 + 2 * r], four.x), __fadd_rn(sums[0][group * 8 + 2 * r + 1], four.y),
            __fadd_rn(sums[0][group * 8 + 2 * r + 4], four.z), __fadd_rn(sums[0][group * 8 + 2 * r + 5], four.w)};
        merge_scores(rows[r], top_two_of_four(v, task.place_mask, group), bounds[r], task.place_mask, tile);
      }
    }
    if (shared_terms.range < 0) return;
    finish_rows<false>(task, *this, shared_terms, order, tile);
    if (tile + 1 < task.tiles) begin_model(task, task.columns.ranges[shared_terms.range + 1], shared_terms.range + 1);
  }

 private:
  // Bit 2 g + r: some column of the g-th 16 may reach the threshold in row r of some four threads of the warp. All
  // threads of a warp get the same bits and go the same way; ranking too much does no harm. `largest_offsets`: of
  // each 16. Comparisons are written so that NaN is ranked.
  template <int kColumns>
  static __device__ __forceinline__ uint32_t groups_above(const Sums<1, kColumns>& sums, const float* largest_offsets,
                                                          const float (&limits)[2]) {
    uint32_t reached = 0;
#pragma unroll
    for (int group = 0; group < kColumns / 16; ++group) {
      const float offset = largest_offsets[group];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int at = group * 8 + 2 * r;
        const float largest = fmaxf(fmaxf(sums[0][at], sums[0][at + 1]), fmaxf(sums[0][at + 4], sums[0][at + 5]));
        if (!(largest <= __fadd_rd(limits[r], -offset))) reached |= 1U << (2 * group + r);
      }
    }
    return __reduce_or_sync(~0U, reached);
  }

  __device__ __forceinline__ void begin_model(const MatrixTask& task, const ColumnRange& range, int at) {
    const ScoreThresholds& known = task.output.thresholds;
    const ScoreDrop fall = known.falls[at];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int64_t row = row_of(task, r);
      const float shift = known.shifts[range.first + load_label(known.labels, range.slot, row)];
      thresholds[r] = *lower_at(known, range.slot, row) - fmaf(fall.per_shift, shift, fall.slope * radii[r]);
      rows[r].clear(thresholds[r]);
    }
  }
};

}  // namespace manymeans::cuda
