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
  bool all_equal = false;          ///< features, too
  std::vector<int64_t> tiny = {};  ///< columns whose squares may underflow; the last is the target
};

struct SummarisedModel {
  RegressionSummary summary;
  std::vector<std::string> warnings;  ///< of its clusters
  RowTroubles rows;
};

SummarisedModel summarise(const FinishedModel& model);

}  // namespace manymeans
