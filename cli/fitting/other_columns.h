// Columns of the file that are not fitted: they describe clusters, and name rows.
#pragma once

#include "fitting/fit_job.h"

namespace manymeans::cli {

/// Reads FitJob::profile; nothing if it is empty. Throws Error(kUsage) for points that cannot be read twice.
Dataset read_profile(const FitJob& job);

/// Returns those of --id, else of the first of three columns that were left out and whose values are distinct texts or
/// whole numbers. Of very many rows only those of --id.
RowNames find_row_names(const FitJob& job, const Dataset& points);

}  // namespace manymeans::cli
