// Points for a model: its number type, its columns.
#pragma once

#include <manymeans/io.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// Reads points as the model's own points were: in its number type and with the columns of the fit, unless `options`
/// say otherwise.
/// Throws Error(kBadData) when the columns do not fit.
Dataset read_like_model(const std::string& path, ReadOptions options, const ModelFile& file, const StoredModel& model);

/// A copy of these columns of the points, in this order, with their names and numbers in the file.
void keep_columns(Dataset& points, const std::vector<int64_t>& indices);

}  // namespace manymeans::cli
