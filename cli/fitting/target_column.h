// The column that a regression predicts.
#pragma once

#include <manymeans/io.h>

#include "flags/data_files.h"

#include <string>

namespace manymeans::cli {

/// Reads the columns that `options` ask for, or all, and puts the column named `target` (a name, or a number from 1
/// in the file) last. Throws Error(kUsage) if the file has no such column of numbers, or no other one.
Dataset read_with_target(const DataFiles& data, const ReadOptions& options, const std::string& target);

}  // namespace manymeans::cli
