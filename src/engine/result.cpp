#include <manymeans/result.h>

#include <array>

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

namespace {
constexpr std::array<std::string_view, 11> kReasons = {"not_begun",  "strict",   "tol",        "labels",
                                                       "shift",      "inertia",  "cycle",      "max_iter",
                                                       "time_limit", "callback", "interrupted"};
static_assert(kReasons.size() == static_cast<size_t>(StopReason::kInterrupted) + 1);
}

std::string_view name_of(StopReason reason) {
  return kReasons[static_cast<size_t>(reason)];
}

int64_t FitResult::best(int64_t k_requested) const {
  int64_t best = -1;
  for (size_t i = 0; i < models.size(); ++i) {
    const ModelResult& model = models[i];
    if (model.k_requested != k_requested || model.stop_reason == StopReason::kNotBegun) continue;
    if (best < 0 || model.inertia < models[static_cast<size_t>(best)].inertia) best = static_cast<int64_t>(i);
  }
  return best;
}

}  // namespace manymeans
