// Checks of the plain programs by the library. A plain program rounds, so equal bits cannot be asked for. Each step is
// checked within the bounds of its rounding errors, and the whole run within a tolerance.
#pragma once

#include <manymeans/points.h>

#include "founding/founding.h"

#include <cstdint>
#include <span>
#include <string>

namespace manymeans::founding {

/// A run of one model, and its last step in full.
struct CheckedRun {
  PointsView points = {};      ///< regression: the last column is the target
  PointsView first = {};       ///< prototypes before the first iteration
  PointsView before = {};      ///< prototypes that gave the labels of the last step
  PointsView after = {};       ///< prototypes that the last step made of these labels
  int64_t iterations = 0;      ///< steps, the last one included
  double threshold = 0;        ///< study 5: a centroid that moved at most this far was not updated
  bool kept_singular = false;  ///< regression: a cluster had too few rows, where the library has a rule of its own
  std::span<const int32_t> labels = {};
};

struct RunVerdict {
  int64_t labels_wrong = 0;       ///< rows that another prototype fits better by more than rounding errors explain
  int64_t ties = 0;               ///< rows whose label differs from the library's within rounding errors
  int64_t means_wrong = 0;        ///< values of `after` that are not what the labels give, within rounding errors
  double difference = 0;          ///< largest difference of `after` to the library's fit, relative to the largest value
  double tolerance = 0;           ///< what `difference` may be
  double inertia_difference = 0;  ///< of `after` to the library's fit, relative
  bool went_apart = false;        ///< the whole run is outside its tolerance
  bool judged = false;

  bool right() const { return labels_wrong == 0 && means_wrong == 0 && !went_apart; }
  RunVerdict& operator+=(const RunVerdict& other);
  void add_to(ResultLine& line) const;
  bool print(ResultLine& line) const;  ///< adds itself, prints the line, and returns right()
};

/// Checks a run of k-means with this backend of the library; "none" checks nothing.
/// Labels: a program may find prototype a nearer than b if d_a - d_b <= g (d_a + d_b). These are squared distances, and
/// g is (D + 3) u. Half a unit in the last place is u.
/// Means: a sum of n terms in any order is off by at most n u times the sum of their magnitudes.
/// Tolerance of the whole run: 1e-3 in float32 and 1e-6 in float64. To these come the rounding error of a mean of N / K
/// values, and ten thresholds. A float32 run of many iterations may leave it, because k-means amplifies a label that
/// differs. It passes if its inertia agrees with the library within 1e-3.
RunVerdict check_kmeans(const CheckedRun& run, const std::string& backend);

/// Checks a run of regression clustering without intercepts. Prototypes are K x (D + 1), the last value is 0.
/// Labels: residuals are compared, each with the rounding error of its sum of D + 1 terms.
/// Means: the residuals of a cluster are orthogonal to each feature, up to rounding errors.
/// The inertia of a long float32 run has a tolerance of 5e-2.
RunVerdict check_regression(const CheckedRun& run, const std::string& backend);

}  // namespace manymeans::founding
