// The points, and candidates for centres or prototypes, in one byte a value. Every score has a proved bound:
// docs/developer/screens.md, "Seeding in bytes" and "A first look in bytes".
#pragma once

#include "backend/cpu/kernels/coded_kernels.h"
#include "backend/cpu/screen/packed_prototypes.h"
#include "backend/frame.h"
#include "core/aligned_buffer.h"
#include "core/rounding.h"
#include "core/threads.h"
#include "data/input.h"
#include "data/statistics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

struct CodedTile {
  const uint8_t* values;  // (groups, P, 4): q + 128
  const float* radii;     // P
};

class CodedPoints {
 public:
  CodedPoints() = default;
  /// Codes the points in the frame of the other screens, in tiles of `tile_rows` rows.
  CodedPoints(const Input& input, const Frame& frame, int64_t tile_rows, ThreadPool& pool);

  /// Where this holds (sums of products of bytes stay within 32 bits).
  static bool holds(int64_t d) { return d <= int64_t{1} << 16; }
  /// The size of the copy.
  static int64_t bytes(const PointsView& points, int64_t tile_rows) {
    const int64_t groups = (points.d + kCodedValues - 1) / kCodedValues;
    return padded(points.n, tile_rows) * (groups * kCodedValues + 4);
  }
  CodedTile tile(int64_t t) const;
  int64_t groups() const { return groups_; }
  /// Steps of the columns: a value is about a step times an integer from -128 to 127.
  std::span<const double> steps() const { return steps_; }
  /// About |y - y~| : |q| of a row.
  double ratio() const { return ratio_; }
  /// Returns whether all scores of a row stay in float32, given the factors of its codes and its radius, and the rest.
  bool keeps_to_float(double of_codes, double of_radius, double rest) const;

 private:
  struct Row;
  void find_steps(const Input& input, const Frame& frame);
  void find_ratio(const Input& input, const Frame& frame);
  void code_row(const Input& input, const Frame& frame, int64_t row, Row& out) const;
  double code_tile(const Input& input, const Frame& frame, int64_t t, Row& row);

  int64_t tile_rows_ = 0;
  int64_t groups_ = 0;
  double ratio_ = 1;
  double max_norm_ = 0;    // |q| of a row
  double max_radius_ = 0;  // of a row
  std::vector<double> steps_;
  AlignedBuffer<uint8_t> values_;
  AlignedBuffer<float> radii_;
};

/// Some rows of the points, or other rows, as columns.
struct CodedCentres {
  bool screenable = true;  ///< false: one is too far out
  int64_t count = 0;       ///< with padding, which is never hit
  std::vector<int8_t> values;
  std::vector<int32_t> corrections;
  std::vector<float> units, slopes, offsets;

  CodedColumns view(const CodedPoints& points) const;
};

/// The centres that `which` names. `bound_scale` is 1 but in tests.
CodedCentres code_centres(const Matrix& centres, std::span<const int64_t> which, const CodedPoints& points,
                          const Frame& frame, double bound_scale);

/// The prototypes of a model in the places and spans of its packed ones.
struct CodedPrototypes {
  std::vector<int8_t> values;
  std::vector<int32_t> offsets, widths;
  std::vector<float> inverses, slopes;

  CodedSpans view(const CodedPoints& points) const;
};

struct CodingTask {
  const Matrix& prototypes;
  const PackedPrototypes& packed;
  const CodedPoints& points;  ///< of at most kMaxLookColumns columns
  const Frame& frame;
  double bound_scale;  ///< 1 but in tests
};

/// The threads of `pool` share the work, if there is one.
CodedPrototypes code_prototypes(const CodingTask& task, ThreadPool* pool = nullptr);

}  // namespace manymeans
