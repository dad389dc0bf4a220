#include "backend/bounds_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans {
namespace {

constexpr double kForgetting = 0.5;  // of what earlier passes taught, in every pass
constexpr double kMinTrials = 64;    // before a class is judged
constexpr int kPatience = 3;         // passes

}  // namespace

TighteningTrials& TighteningTrials::operator+=(const TighteningTrials& other) {
  for (size_t c = 0; c < tried.size(); ++c) {
    tried[c] += other.tried[c];
    spared[c] += other.spared[c];
  }
  return *this;
}

void TighteningChoice::learn(const TighteningTrials& trials) {
  for (size_t c = 0; c < tried_.size(); ++c) {
    tried_[c] = kForgetting * tried_[c] + static_cast<double>(trials.tried[c]);
    spared_[c] = kForgetting * spared_[c] + static_cast<double>(trials.spared[c]);
    if (tried_[c] >= kMinTrials) worth_while_[c] = spared_[c] >= worth_ * tried_[c];
  }
}

void BoundsPolicy::refuse() {
  use_ = BoundsUse::kNever;
  carries_ = false;
}

void BoundsPolicy::learn(const PassResult& result, int64_t rows, bool known) {
  if (use_ != BoundsUse::kWhenTheyPay) return;
  const double changed = static_cast<double>(result.changed) / static_cast<double>(rows);
  if (!carries_) {
    carries_ = changed < rule_.start_below;
    poor_passes_ = 0;
    return;
  }
  if (!known) return;
  const bool poor = static_cast<double>(result.skipped) < rule_.worth_carrying * static_cast<double>(rows);
  poor_passes_ = poor ? poor_passes_ + 1 : 0;
  if (poor_passes_ < kPatience) return;
  carries_ = false;
  rule_.start_below = changed / 2;
}

void BoundsLog::began(int64_t pass, double changed_share) {
  const std::lock_guard lock(mutex_);
  if (models_ == 0 || pass < first_pass_) {
    first_pass_ = pass;
    changed_share_ = changed_share;
  }
  ++models_;
}

void BoundsLog::refused(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  ++refused_;
  refused_bytes_ = std::max(refused_bytes_, bytes);
}

std::string BoundsLog::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  if (models_ > 0) {
    text = fmt::format("; bounds carried from pass {} on ({:.2g} % of the labels had changed)", first_pass_,
                       100 * changed_share_);
    if (models_ > 1) text += fmt::format(", by {} models sooner or later", models_);
  }
  if (refused_ > 0) {
    text += fmt::format("; no bounds for {} model{}: {} MiB for each is more memory than there is", refused_,
                        refused_ == 1 ? "" : "s", (refused_bytes_ >> 20) + 1);
  }
  return text;
}

}  // namespace manymeans
