// Regression clustering whose rows several ranks share.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/regress.h>

#include <span>

namespace manymeans {

/// regress() of the rows of all ranks, as fit_shard() (engine/fit_shard.h) is fit(): models, summaries and warnings are
/// the same on all ranks, labels are those of this rank's rows.
RegressResult regress_shard(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                            const FitHooks& hooks, Comm& comm);

}  // namespace manymeans
