// Models that a search iterates, by the Lloyd loop that all fits have. Their session stays from one call to the next.
// So a model that differs little from the one before it moves few rows.
#pragma once

#include "core/threads.h"
#include "engine/lloyd.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace manymeans {

struct SearchModel {
  Matrix centroids;  ///< empty: none yet
  double inertia = std::numeric_limits<double>::infinity();
  std::vector<double> weights;  ///< of the clusters
};

/// Iterates up to `slots` models at a time. The constructor's arguments must outlive it; one thread uses it.
class SearchSession {
 public:
  /// `fit`: what the models share but for stopping. `member`: whose models these are.
  SearchSession(const FitContext& fit, const Member& member, int slots, ThreadPool& pool);

  /// Iterates each model until few rows change their label, at most `updates` times. Chooses the first centroids of
  /// models that have none. False where the search was stopped: then the models are not to be used.
  bool iterate(std::span<SearchModel* const> models, int64_t updates);

 private:
  const FitContext& fit_;
  const Member& member_;
  ThreadPool& pool_;
  std::unique_ptr<Session> session_;
};

}  // namespace manymeans
