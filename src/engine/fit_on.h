// fit() on a backend that serves other fits, too: making one for each would take longer than a small fit does.
#pragma once

#include <manymeans/fit.h>

#include "backend/backend.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

class Checkpoint;

/// The backend that fit() would make for these points.
std::shared_ptr<Backend> backend_of_fit(const PointsView& points, const FitOptions& options, const FitHooks& hooks);

/// What a fit among others gets from their caller.
struct FitAmongOthers {
  /// Made for such points, with the same threads, backend and algorithm, and the same flags of the caller. It serves
  /// one fit at a time.
  std::shared_ptr<Backend> backend = nullptr;  ///< null: one of its own
  Checkpoint* checkpoint = nullptr;            ///< of the caller, in place of that of the hooks, and maybe null
  size_t state = 0;                            ///< number of its first model there
  std::span<const uint32_t> guess = {};        ///< labels that rows probably get from the prototypes given
};

/// Does the work of fit().
FitResult fit_on(const FitAmongOthers& place, const PointsView& points, std::span<const double> weights,
                 const FitOptions& options, const FitHooks& hooks);

}  // namespace manymeans
