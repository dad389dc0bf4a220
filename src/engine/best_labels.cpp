#include "engine/best_labels.h"

#include <manymeans/models_by_k.h>

#include "core/philox_lanes.h"

#include <algorithm>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kPiece = 1 << 16;  // rows that a thread sums up at a time

}  // namespace

BestLabels::Key BestLabels::key_of(const Member& member) {
  return {member.own_rows ? member.own_rows->problem : 0, member.result.k_requested};
}

void BestLabels::add(const Member& member) {
  const std::pair mine(member.result.inertia, member.index);
  const std::lock_guard lock(mutex_);
  auto& best = best_.try_emplace(key_of(member), mine).first->second;
  best = std::min(best, mine);
}

bool BestLabels::wants(const Member& member) const {
  if (all_) return true;
  const std::lock_guard lock(mutex_);
  return best_.at(key_of(member)).second == member.index;
}

void BestLabels::keep_best(FitResult& result) const {
  if (all_) return;
  std::vector<bool> best(result.models.size());
  for (const ModelsOfK& found : models_by_k(result)) {
    if (found.best >= 0) best[static_cast<size_t>(found.best)] = true;
  }
  for (size_t i = 0; i < best.size(); ++i) {
    if (!best[i]) result.models[i].labels = Labels();
  }
}

void set_label_sum(ModelResult& model, LabelSum sum) {
  model.label_sum = {static_cast<uint64_t>(sum), static_cast<uint64_t>(sum >> 64)};
}

// A model that has not begun has no labels, and their sum is 0.
void add_label_sums(FitResult& result, int64_t first_row, Comm& comm) {
  for (ModelResult& model : result.models) {
    if (!model.label_sum) set_label_sum(model, label_sum(model.labels, first_row));
    const auto& [low, high] = *model.label_sum;
    set_label_sum(model, comm.sum(static_cast<LabelSum>(high) << 64 | low));
  }
}

// One thread reads labels in a file, and frees what it has read.
LabelSum label_sum(const Labels& labels, int64_t first_row, ThreadPool& pool) {
  if (labels.in_file()) return label_sum(labels, first_row);
  std::vector<LabelSum> sums(static_cast<size_t>(pool.size()), 0);
  pool.for_each_range(labels.size(), kPiece, [&](int worker, int64_t first, int64_t last) {
    std::vector<uint32_t> piece(static_cast<size_t>(last - first));
    labels.read(first, last - first, piece.data());
    sums[static_cast<size_t>(worker)] += sum_of_label_terms(nullptr, first_row + first, piece.data(), last - first);
  });
  LabelSum sum = 0;
  for (const LabelSum part : sums) sum += part;
  return sum;
}

}  // namespace manymeans
