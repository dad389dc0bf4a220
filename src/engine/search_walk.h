// One model that walks by swaps: contract, "Search".
#pragma once

#include "backend/swap_scores.h"
#include "engine/search_models.h"
#include "io/results/search_record.h"

#include <cstdint>
#include <vector>

namespace manymeans {

/// It looks for swaps, tries some of them at a time, and keeps what they gain. A round is a look and its tries.
class SwapWalk {
 public:
  /// Ends after `patience` rounds in a row that gained nothing.
  SwapWalk(SearchModel model, int64_t patience, const SearchDraw& draw);

  const SearchModel& best() const { return best_; }
  /// The place between two rounds: a walk that continues from there, from the same model, walks the same way.
  WalkRecord record() const { return {most_, failures_, static_cast<int64_t>(draw_.draw)}; }
  void go_on(const WalkRecord& record);
  /// The model to begin with: to be iterated before the first round, unless it was already.
  SearchModel& start() { return best_; }
  bool over() const { return over_; }
  /// Returns whether the next round has not begun yet.
  bool between_rounds() const { return swaps_.empty(); }

  /// The model to iterate next; null where the walk is over.
  SearchModel* next(SwapScores& scores, ThreadPool& pool);
  /// Judges the model that next() returned, after it was iterated.
  void judge();

 private:
  void look(SwapScores& scores, ThreadPool& pool);
  std::vector<Swap> choose() const;

  SearchModel best_, tried_;
  int64_t patience_;
  SearchDraw draw_;
  std::vector<Swap> swaps_;
  double most_;  // swaps of the next try
  int64_t tries_ = 0, failures_ = 0;
  bool over_ = false;
};

}  // namespace manymeans
