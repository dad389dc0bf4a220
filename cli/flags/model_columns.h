// Points for a model: its number type, its columns.
#pragma once

#include <manymeans/io.h>

#include "flags/data_files.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// Reads points in the number type of a fit and with its columns, unless `options` say otherwise. Throws
/// Error(kBadData) when the columns do not fit.
Dataset read_like_fit(const DataFiles& data, ReadOptions options, const PointsOfFit& fit);

/// Scales the points as the fit scaled its points, and frees the memory of the unscaled ones.
void scale_read(Dataset& points, const Scaling& scaling, int threads, int64_t memory);

/// For each name its index in `names`. Throws Error(kBadData) about `path`, whose columns do not
/// suit a model, when one is missing.
std::vector<int64_t> find_columns(const std::string& path, const std::vector<std::string>& wanted,
                                  const std::vector<std::string>& names);

/// Replaces the points by a copy of the columns `indices`, in this order, with their names and numbers in the file.
void keep_columns(Dataset& points, const std::vector<int64_t>& indices);

}  // namespace manymeans::cli
