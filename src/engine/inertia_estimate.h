// The inertia that is shown while a fit runs: an estimate from the statistics of a pass, so that no pass computes it.
#pragma once

#include "core/threads.h"
#include "data/input.h"
#include "data/statistics.h"

#include <vector>

namespace manymeans {

/// Sum of w' |x - c_label|^2 from the clusters' sums, about a centre m of the points. It equals
///   sum of w' |x - m|^2  +  sum over k of  (c_k - m) . (W_k (c_k - m) - 2 (S_k - W_k m)).
/// The first part is the same for every pass and model. In binary64; not part of the answer.
class InertiaEstimate {
 public:
  /// Reads the points once. Where there are several ranks, all of them make it.
  InertiaEstimate(const Input& input, ThreadPool& pool);

  /// The estimate for the labels that these statistics belong to and the prototypes that the pass used; NaN where so
  /// little is left of the sum about the centre that roundings could be all of it. O(K D).
  double of(const Statistics& statistics, const Matrix& prototypes) const;

 private:
  const Input& input_;
  std::vector<double> centre_;  // the mean of some rows
  double about_centre_ = 0;     // sum of w' |x - m|^2
};

}  // namespace manymeans
