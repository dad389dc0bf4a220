// The prototypes of one model as the screen sees them, with a proved bound for every score: docs/developer/screens.md.
//
//   upper_c(x) = offset_c + x~ . z~_c + radius(x) slope + error
//   upper_c(x) - 2 (radius(x) slope + error) <= S_c <= upper_c(x)
//
// where S_c = y . z_c - |z_c|^2 / 2 of the exact centred and scaled point and prototype. The span of column c has slope
// and error. Columns are the distinct prototypes by ascending norm: spans of like norms have tight bounds.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/screen/packed_points.h"
#include "core/aligned_buffer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// Maximal number of spans that are cut short because norms fall by half. A far prototype would widen the bounds of all
/// others of its span.
constexpr int64_t max_extra_spans(int64_t k) {
  return std::min<int64_t>(12, k / 8);
}

/// Errors of the scores of one format, per span.
struct SpanBounds {
  AlignedBuffer<float> slopes;
  AlignedBuffer<float> errors;
};

struct PackedPrototypes {
  int64_t spans = 0;             ///< each has 32 places for columns
  std::vector<int32_t> columns;  ///< per span: places that belong to a prototype, the first ones
  std::vector<int32_t> widths;   ///< per span: columns, padded to what is computed at once
  bool screenable = true;        ///< false: a prototype is too far out; use exact distances
  /// Per place: its prototype; repeated prototypes have no column but the first's. Padding, the places from `columns`
  /// on, is no prototype: its 0 keeps gathers within bounds.
  std::vector<uint32_t> order;
  std::vector<uint8_t> repeated;    ///< per prototype: there is another with the same bits
  AlignedBuffer<float> values;      ///< float32 format
  AlignedBuffer<float> offsets;     ///< per place; padding can never win
  AlignedBuffer<std::byte> matrix;  ///< spans in a bfloat16 format, if the screen has one
  SpanBounds bounds;                ///< of the screen
  SpanBounds fine;                  ///< of float32 scores, with norms for radii
  AlignedBuffer<float> scales;      ///< per span, kInt8Pair: unit of the points times that of the span, times 256
  float slack = 0;                  ///< a point's own share of a margin is slack * norm^2 + underflow
  float underflow = 0;

  /// Bytes of one span in this screen's format.
  static int64_t span_bytes(const ScreenKernels& screen, int64_t d);
  /// The screen's view from span `first` on.
  ScreenColumns view(int64_t first, int64_t count, const PackedPoints& points, const MatrixSteps& steps) const;
};

/// Bound on what underflow of squares takes from a comparison of d columns in this frame. It is never a denormal
/// number, whose addition would cost more than the rest of a certificate.
float score_underflow(const Frame& frame, int64_t d);

/// No model of k prototypes has more spans.
constexpr int64_t max_spans(int64_t k) {
  return (k + kSpanColumns - 1) / kSpanColumns + max_extra_spans(k);
}

/// `bound_scale` is 1 but in tests of a wrong bound. The threads of `pool` share the work, if there is one.
PackedPrototypes pack_prototypes(const Matrix& prototypes, const PackedPoints& points, const CpuKernels& kernels,
                                 double bound_scale, ThreadPool* pool = nullptr);

}  // namespace manymeans
