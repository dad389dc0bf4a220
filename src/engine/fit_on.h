// fit() on a backend that serves other fits, too: making one for each would take longer than a small fit does.
#pragma once

#include <manymeans/fit.h>

#include "backend/backend.h"
#include "io/results/checkpoint_file.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

/// The backend that fit() would make for these points.
std::shared_ptr<Backend> backend_of_fit(const PointsView& points, const FitOptions& options, const FitHooks& hooks);

/// What a fit among others gets from their caller.
struct FitAmongOthers {
  /// Made for such points, with the same threads, backend and algorithm, and the same flags of the caller. It serves
  /// one fit at a time.
  std::shared_ptr<Backend> backend;
  std::vector<ModelState>* states = nullptr;  ///< in: how far its models were (empty: nowhere); out: how far they are
};

/// fit() of one rank.
FitResult fit_on(const FitAmongOthers& place, const PointsView& points, std::span<const double> weights,
                 const FitOptions& options, const FitHooks& hooks);

}  // namespace manymeans
