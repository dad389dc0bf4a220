// Estimates the work that a screen would leave, on a sample of the rows, before all rows are packed.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/screen/packed_points.h"
#include "backend/frame.h"
#include "backend/upload.h"
#include "data/input.h"

#include <cstdint>
#include <vector>

namespace manymeans {

/// Of a row and model, on average.
struct ProbeCounts {
  double columns = 0;     ///< scores that are computed: whole blocks of all spans
  double unproved = 0;    ///< rows whose label the screen does not prove
  double candidates = 0;  ///< of these rows, all together; a span to be looked at again counts as kSecondLook
};

/// The k of every model.
std::vector<int64_t> clusters_of(const Workload& workload);

/// Some rows of the sample serve as points and others as prototypes. A screen treats them as it would treat all: it
/// packs, multiplies and certifies, and spans share bounds and places. An estimate from margins and rounding errors of
/// single rows saw 0 % unproved where spans of KDD's far and near prototypes left 10 %. Some 10^5 to 10^6 scores,
/// whatever the points' number.
class SamplingProbe {
 public:
  static constexpr double kSecondLook = 4;

  /// Kernels and frame must outlive the probe.
  SamplingProbe(const Input& input, const CpuKernels& kernels, const Frame& frame, const Workload& workload);

  int64_t columns() const { return points_.columns(); }
  ProbeCounts run(const ScreenKernels& screen) const;
  /// How many prototypes per row and model a look in bytes leaves in addition to this screen's best, in tiles of as
  /// many rows.
  double hits(const ScreenKernels& screen, const CodedKernels& in_bytes) const;

 private:
  // Some of points_, with labels among these prototypes.
  struct LabelledTile {
    int64_t first;
    const Tile& tile;
    const std::vector<uint32_t>& labels;
    const Matrix& prototypes;
  };
  double hits_of_tile(const LabelledTile& rows, CodedLook look, float underflow, const CodedKernels& in_bytes) const;
  // Draws from rows that serve as no point, if there are any.
  Matrix draw_prototypes(const Input& input, bool apart, int64_t count, const std::vector<int64_t>& of_points) const;

  const CpuKernels& kernels_;
  const Frame& frame_;
  Matrix points_;
  Input sample_;                    // of points_
  std::vector<Matrix> prototypes_;  // of some models, which represent all
  std::vector<int64_t> models_;     // for how many
};

}  // namespace manymeans
