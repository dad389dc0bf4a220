// The models of a result by the k that was asked for.
#pragma once

#include <manymeans/result.h>

#include <cstdint>
#include <vector>

namespace manymeans {

/// The models of one k that was asked for.
struct ModelsOfK {
  int64_t k = 0;
  int64_t models = 0;
  int64_t best = -1;  ///< FitResult::best()
};
/// One entry for each k that was asked for, in order. O(models), as is one call of FitResult::best().
std::vector<ModelsOfK> models_by_k(const FitResult& result);

}  // namespace manymeans
