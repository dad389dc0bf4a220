// The description of a file of sparse points.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// A few lines of text.
std::string sparse_description(const std::string& path, const Dataset& points);
/// One JSON object.
std::string sparse_description_json(const std::string& path, const Dataset& points);

}  // namespace manymeans::cli
