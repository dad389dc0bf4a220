// Choosing among the models of a model file.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// The model with the lowest inertia among those with this k. k = 0: the only k there is.
/// Throws Error(kUsage) that lists what there is.
const StoredModel& choose_model(const ModelFile& file, const std::string& path, int64_t k);

}  // namespace manymeans::cli
