#include "flags/initial_file.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "flags/flag_values.h"
#include "flags/stored_models.h"

#include <algorithm>

namespace manymeans::cli {
namespace {

Dataset from_model_file(const InitialFile& wanted) {
  const std::string& path = wanted.path;
  auto file = std::make_shared<ModelFile>(load_model(path));
  if (file->linear() != (wanted.kind == ModelKind::kLinear)) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("'{}' holds {}; {} are needed here", path, file->linear() ? "linear models" : "centroids",
                            file->linear() ? "centroids" : "linear models"));
  }
  if (file->scaling.kind != wanted.scale) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' was fitted with --scale {}, this fit has --scale {}; use the same", path,
                            name_of(file->scaling.kind), name_of(wanted.scale)));
  }
  if (file->metric != wanted.metric) {
    throw Error(ErrorCode::kUsage, "--init",
                fmt::format("the model in '{}' was fitted with --metric {}, this fit has --metric {}; use the same",
                            path, name_of(file->metric), name_of(wanted.metric)));
  }
  Dataset initial;
  initial.path = path;
  initial.view = choose_model(*file, path, wanted.k, WhichK::kLeft).prototypes.view();
  initial.owner = std::move(file);
  return initial;
}

}  // namespace

bool names_initial_file(const std::string& init, const std::vector<std::string>& methods) {
  if (std::ranges::find(methods, init) != methods.end()) return false;
  if (is_points_path(init)) return true;
  throw Error(ErrorCode::kUsage, "--init",
              fmt::format("must be one of {} or a file, found '{}'", fmt::join(methods, ", "), shown(init)));
}

Dataset read_initial(const InitialFile& wanted) {
  const auto& [path, k, d, scale, kind, metric] = wanted;
  ReadOptions as_binary64;  // exact for every type; the fit rounds once to the type of the points
  as_binary64.dtype = DataType::kFloat64;
  Dataset initial = path.ends_with(".npz") ? from_model_file(wanted) : read_points(path, as_binary64);
  if (k != 0 && initial.view.n != k) {
    throw Error(ErrorCode::kBadData, "--init",
                fmt::format("'{}' has {} rows, k is {}; one row for each cluster is right", path, initial.view.n, k));
  }
  if (initial.view.d != d) {
    throw Error(ErrorCode::kBadData, "--init",
                fmt::format("'{}' has {} columns, the points have {}; they must agree", path, initial.view.d, d));
  }
  return initial;
}

}  // namespace manymeans::cli
