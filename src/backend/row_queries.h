// What the engine asks about rows: distances, inertia, the farthest and the two nearest.
#pragma once

#include <manymeans/points.h>

#include "backend/two_nearest.h"
#include "core/fixed_point.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace manymeans {

/// A row and its canonical distance (or w' * distance).
struct DistantRow {
  double distance = 0;
  int64_t row = 0;
  uint32_t label = 0;

  /// The order of farthest rows: of equally far ones the lowest row first.
  static bool is_farther(const DistantRow& a, const DistantRow& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  }
};

/// Limbs of the sum of RN(w' * d2), in the format that follows from the farthest row.
struct InertiaSum {
  double farthest = 0;  ///< the largest d2 of a row with w' > 0
  SumFormat format;     ///< distance_format of it
  std::vector<int64_t> limbs;

  /// The rounded sum in units of w', times 2^exponent. In other units, tiny weights would make every inertia zero.
  double rounded(int exponent = 0) const {
    return std::ldexp(rounded_sum(limbs.data(), format), exponent - format.shift);
  }
};

/// Prototypes of one of a session's models.
struct ModelPrototypes {
  int slot = 0;
  const Matrix* prototypes = nullptr;
};

/// Questions about all rows, each answered by canonical distances. Questions with a slot concern the rows and the
/// prototypes that the slot's labels assign them to. They hold after a pass of this model, or after renumber().
class RowQueries {
 public:
  virtual ~RowQueries() = default;

  /// Rows with w' > 0 and d2 > 0 to the assigned prototype, the `count` first by (d2 descending, row ascending).
  virtual std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) = 0;
  /// For each model the sum of RN(w' * d2) of every row to the assigned prototype.
  virtual std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) = 0;
  /// The limbs of that sum in a given format: rows elsewhere may be farther than all rows here.
  virtual std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) = 0;
  /// d2 of every row to the assigned prototype.
  virtual std::vector<double> distances(int slot, const Matrix& prototypes) = 0;
  /// Writes sqrt(d2) of every row to every prototype, rounded to the prototypes' type: `distances` is N x K of it. The
  /// points are read once. No labels are needed.
  virtual void transform(const Matrix& prototypes, Matrix& distances) = 0;

  /// transform() into a room that was waited for. Returns false, and nothing was written, where the caller has to copy.
  virtual bool transform_to(const Matrix& prototypes, const ResultRoom& room) {
    static_cast<void>(prototypes);
    static_cast<void>(room);
    return false;
  }

  using TakeTwoNearest = std::function<void(int64_t first, std::span<const TwoNearest> rows)>;
  /// Passes the two nearest prototypes of every row to `take`, part by part of the rows. False, and nothing was said,
  /// where the host should find them. No labels are needed.
  virtual bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take);
};

}  // namespace manymeans
