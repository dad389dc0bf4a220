// A fit whose rows several ranks share.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/fit.h>

#include "engine/fit_kind.h"

#include <span>

namespace manymeans {

/// Does the work of fit() with hooks.comm.
FitResult fit_shard(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, Comm& comm);

/// Throws Error(kUsage) if somebody gives ranks to what knows only one.
void refuse_ranks(const FitHooks& hooks, const char* what);

class RemoteShards;
/// Does the work of fit_shards() for shards whose shapes are known.
FitResult fit_remote(RemoteShards& shards, const FitOptions& options, const FitHooks& hooks);

/// One rank's rows, and the way to the ranks that have the others.
struct RankRows {
  const PointsView& points;
  std::span<const double> weights;
  Comm& comm;
};

/// Does the work of fit_shard() with prototypes of this kind.
FitResult fit_kind_shard(const FitKind& kind, const RankRows& rows, const FitOptions& options, const FitHooks& hooks);

}  // namespace manymeans
