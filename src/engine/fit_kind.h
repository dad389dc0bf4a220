// The kind of prototype of a fit.
#pragma once

#include "backend/tuning.h"
#include "data/linear_options.h"
#include "data/statistics.h"
#include "engine/member.h"
#include "prototype/centroid.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

/// A model that is done, while the sums over its clusters are still there.
struct FinishedModel {
  const Member& member;
  const Input& input;
  const Statistics& statistics;        ///< over the rows of all ranks
  std::vector<std::string>& warnings;  ///< of this model; may be added to
};

struct SearchTask;

struct FitKind {
  const Prototype& prototype = centroid();
  LinearOptions linear = {};
  int64_t swaps = 0;  ///< of a swap search (swap_search.h), which linear models have; 0: none
  /// Hears of every model that has begun; under the strategy task from several threads.
  std::function<void(const FinishedModel&)> finished = {};
  Tuning tuning = {};                  ///< of backends, for tests
  const SearchTask* search = nullptr;  ///< of the searches before the fit; null: there are none

  /// Names and values of what decides the answer, in addition to the options that all fits have.
  std::vector<std::pair<std::string, std::string>> deciding() const;
};

}  // namespace manymeans
