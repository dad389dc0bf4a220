// Statistics of a finished model from the exact sums over its clusters, in addition to its coefficients.
#pragma once

#include <manymeans/regress.h>

#include "engine/fit_kind.h"

#include <string>
#include <vector>

namespace manymeans {

/// Faults of all rows, whatever the model.
struct RowTroubles {
  bool constant_target = false;
  bool all_equal = false;               ///< features, too
  std::vector<int64_t> tiny = {};       ///< columns whose squares may underflow; the last is the target
  std::vector<int64_t> dependent = {};  ///< features that all rows together leave out; looked for if a cluster does
};

struct SummarisedModel {
  RegressionSummary summary;
  std::vector<std::string> few_rows, own_columns;  ///< warnings of its clusters, of two kinds
  RowTroubles rows;
  bool one_fits_all = false;  ///< one of several clusters has all rows, and its model all of their targets
};

/// "1, 3", at most ten of them: "1, 3, ..., 20 and 5 more".
std::string listed(const std::vector<int64_t>& columns);

/// `units`: of standard errors.
SummarisedModel summarise(const FinishedModel& model, const FeatureUnits& units);

}  // namespace manymeans
