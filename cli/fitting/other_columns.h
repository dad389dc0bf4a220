// Columns of the file that are not fitted: they describe clusters, and name rows.
#pragma once

#include <manymeans/error.h>

#include "fitting/fit_job.h"

#include <string>
#include <vector>

namespace manymeans::cli {

/// Reads FitJob::profile; nothing if it is empty. Throws Error(kUsage) for points that cannot be read twice.
Dataset read_profile(const FitJob& job);

/// Returns the lines of the file of --names. Throws Error(kBadData) that names the line of a name that is empty or
/// there twice.
std::vector<std::string> read_names(const std::string& path);

/// An error about ReadOptions::names, as one about the file of --names; another one unchanged.
Error about_names(const FitJob& job, const Error& error);

/// Returns the names in the column of --id. Without --id it tries three columns that were left out, and takes the first
/// of distinct texts or whole numbers. Very many rows have names of --id only.
RowNames find_row_names(const FitJob& job, const Dataset& points);

}  // namespace manymeans::cli
