#include "flags/stored_models.h"

#include <manymeans/error.h>

#include "flags/tree_nodes.h"
#include "output/model_description.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

namespace manymeans::cli {

namespace {

int64_t left(const StoredModel& model) {
  return model.k;
}

// Why a file cannot be the model, in the words of somebody who looks at the two arguments.
std::string not_a_model(const std::string& command, const std::string& path, const std::string& data) {
  if (is_model_file(data)) {
    return fmt::format("'{0}' is an array and not a model, but '{1}' is one: 'manymeans {2} {1} {0} ...' is right",
                       path, data, command);
  }
  if (command == "predict" && is_nodes_file(path))
    return fmt::format("'{}' holds the nodes of a tree; give it with --tree", path);
  return fmt::format(
      "'{}' is an array and not a model; 'manymeans {} MODEL DATA ...' is right, where MODEL is the "
      ".npz that 'manymeans fit --model' has written",
      path, command);
}

// A damaged model is an .npz with a format version. Any other existing file gets the message of say().
template <class Say>
ModelFile load_or_say(const std::string& path, Say&& say) {
  try {
    return load_model(path);
  } catch (const Error& error) {
    std::error_code ignored;
    const bool exists = std::filesystem::is_regular_file(path, ignored);
    const bool no_model = std::string_view(error.what()).find("there is no 'format_version'") != std::string_view::npos;
    if (error.code() != ErrorCode::kBadData || (path.ends_with(".npz") && !no_model) || !exists) throw;
    throw Error(ErrorCode::kUsage, "MODEL", say());
  }
}

}  // namespace

ModelFile read_model_argument(const std::string& command, const std::string& path, const std::string& data) {
  return load_or_say(path, [&] { return not_a_model(command, path, data); });
}

ModelFile read_only_models(const std::string& path) {
  return load_or_say(path, [&] {
    return fmt::format("'{0}' is an array and not a model; 'manymeans describe {0}' says what it holds", path);
  });
}

const StoredModel& choose_model(const ModelFile& file, const std::string& path, int64_t k, WhichK which) {
  const auto k_of = which == WhichK::kAskedFor ? asked_for : left;
  std::set<int64_t> ks;
  for (const StoredModel& model : file.models) ks.insert(k_of(model));
  if (ks.empty()) throw Error(ErrorCode::kBadData, path, "holds no model; a file written by 'fit --model' is right");
  if (k == 0 && ks.size() > 1) {
    throw Error(ErrorCode::kUsage, "-k",
                fmt::format("is needed, '{}' holds models for k = {}; choose one of them", path, fmt::join(ks, ", ")));
  }
  if (k == 0) k = *ks.begin();
  const StoredModel* best = nullptr;
  for (const StoredModel& model : file.models) {
    if (k_of(model) == k && (best == nullptr || model.inertia < best->inertia)) best = &model;
  }
  if (best == nullptr) {
    throw Error(ErrorCode::kUsage, "-k",
                fmt::format("is {}, '{}' holds models for k = {}; choose one of them", k, path, fmt::join(ks, ", ")));
  }
  return *best;
}

}  // namespace manymeans::cli
