// The direction as prototype: the mean of rows of length one, scaled to length one itself (spherical k-means). Rows,
// terms and distances are as for the centroid, so every screen and every sum serves it.
#pragma once

#include "core/unit_length.h"
#include "prototype/centroid.h"

namespace manymeans {

struct Direction : Centroid {
  static constexpr std::string_view kName = "direction";
  static constexpr bool kEngineSolves = true;

  /// False where the mean is zero, which has no direction: the old prototype stays.
  static bool solve(const ClusterSums& sums, double* c) {
    Centroid::solve(sums, c);
    return scale_to_unit_length(c, sums.terms, c);
  }
};

/// Its table.
const Prototype& direction();

/// Given prototypes scaled to length one. Throws Error(kBadData) for a row of zeros.
Matrix unit_prototypes(Matrix prototypes);

}  // namespace manymeans
