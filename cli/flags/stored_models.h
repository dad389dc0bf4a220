// Choosing among the models of a model file.
#pragma once

#include <manymeans/io.h>
#include <manymeans/model_file.h>

#include <string>

namespace manymeans::cli {

/// The meaning of k for models that have fewer clusters than requested, because of `--empty drop`.
enum class WhichK {
  kAskedFor,  ///< as in the columns of labels, the JSON summary, and best(k) in C++ and Python
  kLeft,      ///< the prototypes that there are
};

/// Reads the model file that is the first argument of this command. Where it holds points instead, the error says so,
/// and how the arguments go; `data` is the second argument, or empty.
ModelFile read_model_argument(const std::string& command, const std::string& path, const std::string& data);
/// Reads a model file of a command that takes nothing else. Where it holds points instead, the error says so.
ModelFile read_only_models(const std::string& path);

/// The model with the lowest inertia among those with this k, the first of equal ones. k = 0: the only k there is.
/// Throws Error(kUsage) that lists the models of the file.
const StoredModel& choose_model(const ModelFile& file, const std::string& path, int64_t k, WhichK which);

}  // namespace manymeans::cli
