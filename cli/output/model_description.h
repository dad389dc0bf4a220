// What `describe` says of a model file.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// A table of the best model of every k; of linear models their equations, too, in the units of the fitted file.
std::string model_description(const std::string& path, const ModelFile& file);
/// The same as one JSON object.
std::string model_description_json(const std::string& path, const ModelFile& file);

}  // namespace manymeans::cli
