// Regression clustering whose rows several ranks share.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/regress.h>

#include <span>

namespace manymeans {

/// Runs regress() on the rows of all ranks, as fit_shard() (engine/fit_shard.h) runs fit(). Models, summaries and
/// warnings are the same on all ranks; labels are for this rank's rows.
RegressResult regress_shard(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                            const FitHooks& hooks, Comm& comm);

}  // namespace manymeans
