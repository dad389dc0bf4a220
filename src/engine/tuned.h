// fit() and predict() with the switches of a backend that users do not have: for tests, fuzzers and benchmarks.
#pragma once

#include <manymeans/fit.h>

#include "backend/backend.h"
#include "prototype/prototype.h"

#include <span>

namespace manymeans {

/// fit() on a backend made with `tuning`; what the options themselves say (threads, algorithm, memory) is taken from
/// them.
FitResult fit_tuned(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, const BackendOptions& tuning);

/// fit() with prototypes of this kind.
FitResult fit_kind(const Prototype& prototype, const PointsView& points, std::span<const double> weights,
                   const FitOptions& options, const FitHooks& hooks);

/// predict() likewise.
Prediction predict_tuned(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                         const BackendOptions& tuning);

}  // namespace manymeans
