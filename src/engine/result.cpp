#include <manymeans/models_by_k.h>

#include <unordered_map>

namespace manymeans {

PassCounts& PassCounts::operator+=(const PassCounts& other) {
  for (const PassCount& count : kPassCounts) this->*count.value += other.*count.value;
  return *this;
}

PassLog& PassLog::operator+=(const PassLog& other) {
  PassCounts::operator+=(other);
  models += other.models;
  labelled += other.labelled;
  return *this;
}

int64_t FitResult::best(int64_t k_requested) const {
  for (const ModelsOfK& found : models_by_k(*this)) {
    if (found.k == k_requested) return found.best;
  }
  return -1;
}

std::vector<ModelsOfK> models_by_k(const FitResult& result) {
  std::vector<ModelsOfK> all;
  std::unordered_map<int64_t, size_t> places;
  for (size_t i = 0; i < result.models.size(); ++i) {
    const ModelResult& model = result.models[i];
    const auto [place, is_new] = places.try_emplace(model.k_requested, all.size());
    if (is_new) all.push_back({model.k_requested});
    ModelsOfK& found = all[place->second];
    ++found.models;
    if (model.stop_reason == StopReason::kNotBegun) continue;
    if (found.best < 0 || model.inertia < result.models[static_cast<size_t>(found.best)].inertia) {
      found.best = static_cast<int64_t>(i);
    }
  }
  return all;
}

}  // namespace manymeans
