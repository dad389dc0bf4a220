// Points for a model: its number type, its columns.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// Reads points as the model's own points were: in its number type and with the columns of the fit, unless `options`
/// say otherwise.
/// Throws Error(kBadData) when the columns do not fit.
Dataset read_like_model(const std::string& path, ReadOptions options, const ModelFile& file, const StoredModel& model);

}  // namespace manymeans::cli
