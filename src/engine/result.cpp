#include <manymeans/models_by_k.h>

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

namespace manymeans {

std::string shown_duration(double seconds) {
  const char* unit = "s";
  if (seconds < 0.9995) {  // 999.5 ms has four digits
    const bool milli = seconds >= 999.5e-6;
    seconds = std::fmax(seconds, 0) * (milli ? 1e3 : 1e6);
    unit = milli ? "ms" : "us";
  } else if (seconds >= 9.995) {
    const auto whole = static_cast<int64_t>(std::fmin(std::round(seconds), 3.6e9));
    if (whole < 60) return fmt::format("{}s", whole);
    if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
    return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
  }
  const int decimals = seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", seconds, decimals, unit);
}

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
