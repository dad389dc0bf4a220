// Stability: what models of different parts of the rows agree on. Contract, "Stability".
#pragma once

#include <manymeans/choose.h>
#include <manymeans/fit.h>

#include "core/threads.h"
#include "engine/time_left.h"

#include <cstdint>
#include <map>
#include <optional>

namespace manymeans {

/// The criteria of stability of one k. Evidence has fields of the same names.
struct Stability {
  double prediction_strength = Criteria::kUndefined;
  double prediction_strength_error = Criteria::kUndefined;
  double stability = Criteria::kUndefined;
  double stability_error = Criteria::kUndefined;
  double pac = Criteria::kUndefined;
  double valley = Criteria::kUndefined;
  double valley_error = Criteria::kUndefined;
};

/// Returns the criteria for each k, from ChooseOptions::bootstraps members. Returns nothing if a fit was stopped, or if
/// the time is over before the last split. Throws Error(kInterrupted) once the pool's flag is set. Each rank passes its
/// own points.
std::optional<std::map<int64_t, Stability>> find_stability(const PointsView& points, const ChooseOptions& options,
                                                           const FitHooks& hooks, const TimeLeft& time,
                                                           ThreadPool& pool);

}  // namespace manymeans
