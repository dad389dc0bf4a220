// fit() and predict() with the switches of a backend that users do not have: for tests, fuzzers and benchmarks.
#pragma once

#include <manymeans/fit.h>

#include "backend/tuning.h"
#include "engine/fit_kind.h"
#include "prototype/prototype.h"

#include <span>

namespace manymeans {

/// fit() with these switches.
FitResult fit_tuned(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, const Tuning& tuning);

/// fit() with prototypes of this kind.
FitResult fit_kind(const Prototype& prototype, const PointsView& points, std::span<const double> weights,
                   const FitOptions& options, const FitHooks& hooks);

FitResult fit_kind(const FitKind& kind, const PointsView& points, std::span<const double> weights,
                   const FitOptions& options, const FitHooks& hooks);

/// predict() with prototypes of this kind, by a session.
Prediction predict_kind(const Prototype& prototype, const PointsView& points, const PointsView& prototypes,
                        const PredictOptions& options);

/// predict() likewise.
Prediction predict_tuned(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                         const Tuning& tuning);

}  // namespace manymeans
