// Points for a model: its number type, its columns.
#pragma once

#include <manymeans/io.h>

#include "flags/data_files.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// Reads points as those of a fit were: in its number type and with its columns, unless `options` say otherwise.
/// Throws Error(kBadData) when the columns do not fit.
Dataset read_like_fit(const DataFiles& data, ReadOptions options, const PointsOfFit& fit);

/// A copy of these columns of the points, in this order, with their names and numbers in the file.
void keep_columns(Dataset& points, const std::vector<int64_t>& indices);

}  // namespace manymeans::cli
