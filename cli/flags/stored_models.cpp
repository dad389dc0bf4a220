#include "flags/stored_models.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <set>

namespace manymeans::cli {

namespace {

int64_t asked_for(const StoredModel& model) {
  return model.k_requested > 0 ? model.k_requested : model.k;
}
int64_t left(const StoredModel& model) {
  return model.k;
}

}  // namespace

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
