// A row's score for one prototype, by a warp: what the tensor cores would find, for few rows.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/tensor/matrix_finish.cuh"

#include <cuda_fp16.h>

#include <cfloat>
#include <cstdint>

namespace manymeans::cuda {

/// At or below this nothing is known of a row's best score.
constexpr float kNoScore = -FLT_MAX / 2;

/// Returns a lower bound of the score of a row's label, by the bound of its tile, as the screen has it. The sum is one
/// of D float32 products in some order. It loses less than the accumulation that the bound assumes.
__device__ inline float assigned_lower_score(const PackedRows& points, const PackedColumns& columns, unsigned r,
                                             const ScoreThresholds& thresholds, int64_t row) {
  const ColumnRange& range = columns.ranges[r];
  const int64_t natural = range.first + load_label(thresholds.labels, range.slot, row);
  const int64_t column = columns.column_of == nullptr ? natural : columns.column_of[natural];
  const auto* x = static_cast<const __half2*>(points.values) + row * (points.padded_columns / 2);
  const auto* z = static_cast<const __half2*>(columns.values) + column * (points.padded_columns / 2);
  float sum = 0;
  for (int32_t j = static_cast<int32_t>(threadIdx.x % 32); j < points.padded_columns / 2; j += 32) {
    const float2 a = __half22float2(x[j]);
    const float2 b = __half22float2(z[j]);
    sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
  }
  sum = warp_sum(sum);
  const TileTerms& terms = terms_of(columns, static_cast<int32_t>(column / columns.tile_columns));
  const float bound = score_bound(terms, points.radii[row]);
  const float upper = __fadd_ru(__fadd_rn(sum, columns.offsets[column]), bound);
  return lower_score(upper, bound, points.norms[row], range.slack, range.underflow);
}

}  // namespace manymeans::cuda
