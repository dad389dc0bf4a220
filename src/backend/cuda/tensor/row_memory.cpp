#include "backend/cuda/tensor/row_memory.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

// A pass was worth it if it keeps enough that the others are screened on their own. Carrying costs so little that it
// may begin early. With score thresholds a pass over all rows ranks fewer columns, but none are passed over while
// margins are carried: those need the true runner-up.
BoundsPolicy policy_of(const RowMemory::Use& use) {
  return BoundsPolicy(use.margins, use.thresholds ? BoundsPolicy::Rule{.start_below = 0.02, .worth_carrying = 0.35}
                                                  : BoundsPolicy::Rule{.start_below = 0.05, .worth_carrying = 1e-9});
}

}  // namespace

bool thresholds_pay(int64_t changed, int64_t labels, int64_t max_clusters, int64_t columns) {
  // Measured: bench/results/EXPERIMENTS.md. Products of long rows take so long that ranking hides behind them.
  constexpr double kClusters = 12800;
  constexpr int64_t kMaxColumns = 384;
  return columns <= kMaxColumns &&
         static_cast<double>(changed) * kClusters <= static_cast<double>(labels) * static_cast<double>(max_clusters);
}

RowMemory::RowMemory(const Use& use, int64_t rows, int64_t columns, size_t models, BoundsLog& log)
    : use_(use), rows_(rows), columns_(columns), log_(log), policy_(policy_of(use)), changed_(models, 0) {}

void RowMemory::begin_batch(std::span<const ModelMemory> models) {
  batch_.clear();
  pass_had_margins_.clear();
  for (const ModelMemory& model : models) {
    batch_.push_back({model.slot, model.k});
    if (model.labelled) continue;
    forget();
    changed_[static_cast<size_t>(model.slot)] = rows_;
  }
  weigh_thresholds();
}

void RowMemory::end_pass() {
  left_ = Left::kNothing;
  if (use_.thresholds) left_ = Left::kScores;
  if (carries_margins()) left_ = Left::kMargins;
}

void RowMemory::note_changes(std::span<const PassCounters> found) {
  for (size_t i = 0; i < batch_.size(); ++i) {
    changed_[static_cast<size_t>(batch_[i].slot)] = static_cast<int64_t>(found[i].changed);
  }
}

void RowMemory::weigh_thresholds() {
  int64_t changed = 0;
  int64_t most = 1;
  for (const OfModel& model : batch_) {
    changed += changed_[static_cast<size_t>(model.slot)];
    most = std::max(most, model.k);
  }
  const bool pay = thresholds_pay(changed, rows_ * static_cast<int64_t>(batch_.size()), most, columns_);
  thresholds_pay_ = use_.always_thresholds.value_or(pay);
}

void RowMemory::learn(size_t pass, std::span<const PassCounters> found) {
  note_changes(found);
  if (use_.margins != BoundsUse::kNever) learn_of_margins(pass, found[0]);
  weigh_thresholds();
}

void RowMemory::end_batch(std::span<const PassCounters> last) {
  note_changes(last);
}

// Margins are for sessions of one model.
void RowMemory::learn_of_margins(size_t pass, const PassCounters& found) {
  PassResult result;
  result.changed = static_cast<int64_t>(found.changed);
  result.skipped = static_cast<int64_t>(found.kept);
  const bool carried = policy_.carries();
  policy_.learn(result, rows_, pass_had_margins_[pass] != 0);
  ++passes_;
  if (carried || !policy_.carries()) return;
  log_.began(passes_ + 1, static_cast<double>(result.changed) / static_cast<double>(rows_));
}

}  // namespace manymeans::cuda
