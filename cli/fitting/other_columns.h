// Columns of the file that are not fitted: they describe clusters, and name rows.
#pragma once

#include "fitting/fit_job.h"

namespace manymeans::cli {

/// Reads FitJob::profile; nothing if it is empty. Throws Error(kUsage) for points that cannot be read twice.
Dataset read_profile(const FitJob& job);

/// Names the columns of points by the lines of a file: a line for each column of DATA. Throws Error(kUsage) for points
/// that have names, Error(kBadData) for another number of lines and for an empty one.
void name_columns(Dataset& points, const std::string& path);

/// Returns the names in the column of --id. Without --id it tries three columns that were left out, and takes the first
/// of distinct texts or whole numbers. Very many rows have names of --id only.
RowNames find_row_names(const FitJob& job, const Dataset& points);

}  // namespace manymeans::cli
