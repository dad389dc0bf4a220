// The output of `inspect`: all contents of a model file.
#pragma once

#include <manymeans/io.h>
#include <manymeans/model_file.h>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace manymeans::cli {

/// All models, equations of linear ones, and how they were fitted, as text.
std::string model_inspection(const std::string& path, const ModelFile& file);
/// Returns the inspection as one JSON object.
nlohmann::ordered_json model_inspection_json(const std::string& path, const ModelFile& file);

}  // namespace manymeans::cli
