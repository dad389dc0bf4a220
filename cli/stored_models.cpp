#include "stored_models.h"

#include <manymeans/error.h>

#include <fmt/format.h>

#include <set>

namespace manymeans::cli {

const StoredModel& choose_model(const ModelFile& file, const std::string& path, int64_t k) {
  std::set<int64_t> ks;
  for (const StoredModel& model : file.models) ks.insert(model.k);
  if (ks.empty()) throw Error(ErrorCode::kBadData, path, "holds no model; a file written by 'fit --model' is right");
  if (k == 0 && ks.size() > 1) {
    throw Error(ErrorCode::kUsage, "-k",
                fmt::format("is needed, '{}' holds models for k = {}; choose one of them", path, fmt::join(ks, ", ")));
  }
  if (k == 0) k = *ks.begin();
  const StoredModel* best = nullptr;
  for (const StoredModel& model : file.models) {
    if (model.k == k && (best == nullptr || model.inertia < best->inertia)) best = &model;
  }
  if (best == nullptr) {
    throw Error(ErrorCode::kUsage, "-k",
                fmt::format("is {}, '{}' holds models for k = {}; choose one of them", k, path, fmt::join(ks, ", ")));
  }
  return *best;
}

}  // namespace manymeans::cli
