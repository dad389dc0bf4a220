// Clusters that are linear models, as a report on clusters.
#pragma once

#include <manymeans/regress.h>

#include "fitting/fit_job.h"
#include "output/cluster_report.h"

#include <cstddef>
#include <vector>

namespace manymeans::cli {

/// Describes model `index` of the result: the means of features and target in each cluster, in the units of the file.
/// The spread is the root mean squared residual; `more` has R2, the coefficients and their standard errors. Reads the
/// points twice; with several ranks all of them call it.
ClusterReport summarise_models(const JobPoints& points, const RegressResult& result, size_t index, Comm& comm);

}  // namespace manymeans::cli
