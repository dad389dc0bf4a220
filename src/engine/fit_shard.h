// A fit whose rows several ranks share.
#pragma once

#include <manymeans/fit.h>

#include "comm/comm.h"

#include <span>
#include <string>

namespace manymeans {

/// fit() of the rows of all ranks; `points` and `weights` are those of this rank, which may have none, and the ranks
/// have them in the order of the rows. All ranks call it with the same options and initial prototypes; speed choices
/// (backend, algorithm, threads, memory), hooks and time limits may differ. Labels are those of this rank's rows;
/// everything else of the models is the same on all ranks, and the bits are those of fit().
///
/// A rank that is given the path of a checkpoint writes it, and all write the same; to go on from it, all ranks have to
/// be given it. Ranks can go on from a checkpoint of fit(), or of more or fewer ranks, and fit() from one of ranks.
///
/// Models are fitted one after the other under the strategy task, since all ranks have to take them in one order.
/// Throws what fit() throws, on all ranks alike: where one rank fails by itself, the others throw what it says.
FitResult fit_shard(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                    const FitHooks& hooks, Comm& comm);

/// ModelResult::digest() over the labels of all ranks, which all call it.
std::string digest_over_ranks(const ModelResult& model, Comm& comm);

}  // namespace manymeans
