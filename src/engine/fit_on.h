// fit() on a backend that serves other fits, too: making one for each would take longer than a small fit does.
#pragma once

#include <manymeans/fit.h>

#include "backend/backend.h"

#include <memory>
#include <span>

namespace manymeans {

/// The backend that fit() would make for these points.
std::shared_ptr<Backend> backend_of_fit(const PointsView& points, const FitOptions& options, const FitHooks& hooks);

/// fit() of one rank. The backend was made for such points, with the same threads, backend and algorithm, and the same
/// flags of the caller. It serves one fit at a time.
FitResult fit_on(const std::shared_ptr<Backend>& backend, const PointsView& points, std::span<const double> weights,
                 const FitOptions& options, const FitHooks& hooks);

}  // namespace manymeans
