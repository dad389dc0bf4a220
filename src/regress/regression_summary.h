// What the exact sums over the clusters of a finished model say beside its coefficients.
#pragma once

#include <manymeans/regress.h>

#include "engine/fit_kind.h"

#include <string>
#include <vector>

namespace manymeans {

/// What is wrong with all rows, whatever the model.
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
