#include "engine/search_walk.h"

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

constexpr double kMinGain = 1e-7;  // of the inertia, for a try to succeed
constexpr int64_t kTries = 4;
constexpr double kGrowth = 1.3;

}  // namespace

SwapWalk::SwapWalk(SearchModel model, int64_t patience, const SearchDraw& draw)
    : best_(std::move(model)), patience_(patience), draw_(draw) {
  const int64_t k = best_.centroids.rows();
  most_ = static_cast<double>(std::max<int64_t>(1, k / 10));
  over_ = k < 2;
}

void SwapWalk::go_on(const WalkRecord& record) {
  most_ = record.most;
  failures_ = record.failures;
  draw_.draw = static_cast<uint32_t>(record.draws);
}

void SwapWalk::look(SwapScores& scores, ThreadPool& pool) {
  const int64_t k = best_.centroids.rows();
  tries_ = 0;
  scores.assign(best_.centroids, pool);
  swaps_ = scores.swaps(scores.draw(draw_, k), pool);
  draw_.draw += static_cast<uint32_t>(k);
  over_ = swaps_.empty();
}

SearchModel* SwapWalk::next(SwapScores& scores, ThreadPool& pool) {
  if (!over_ && between_rounds()) look(scores, pool);
  if (over_) return nullptr;
  tried_.centroids = best_.centroids;
  scores.put(choose(), tried_.centroids);
  return &tried_;
}

// The best ones that have nothing to do with each other; only the first may promise nothing.
std::vector<Swap> SwapWalk::choose() const {
  std::vector<Swap> chosen;
  std::vector<uint8_t> used(static_cast<size_t>(best_.centroids.rows()));
  for (const Swap& swap : swaps_) {
    if (!chosen.empty() && (static_cast<double>(chosen.size() + 1) > most_ || swap.change > 0)) break;
    if (used[swap.removed] != 0 || used[swap.cluster] != 0) continue;
    used[swap.removed] = used[swap.cluster] = 1;
    chosen.push_back(swap);
  }
  return chosen;
}

void SwapWalk::judge() {
  const auto k = static_cast<double>(best_.centroids.rows());
  if (tried_.inertia < (1 - kMinGain) * best_.inertia) {
    best_ = std::move(tried_);
    most_ = std::min(kGrowth * most_, 0.2 * k + 1);
    failures_ = 0;
    swaps_.clear();
    return;
  }
  ++tries_;
  most_ = std::max(1.0, most_ / 2);
  if (most_ < 2) swaps_.erase(swaps_.begin());
  if (tries_ < kTries && !swaps_.empty()) return;
  swaps_.clear();
  ++failures_;
  over_ = failures_ >= patience_;
}

}  // namespace manymeans
