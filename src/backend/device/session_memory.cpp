#include "backend/device/session_memory.h"

#include "backend/device/pass_state.h"
#include "core/label_width.h"
#include "core/rounding.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <utility>

namespace manymeans::device {
namespace {

constexpr int64_t kLabelRows = 128;  // kernels may read and write labels of this many rows together

}  // namespace

SessionMemory::SessionMemory(const Input& input, std::span<const int64_t> k)
    : input_(input),
      width_(prototype_of(input).width(input.points.d)),
      terms_(prototype_of(input).terms(input.points.d)) {
  for (const int64_t count : k) {
    first_.push_back(clusters_);
    clusters_ += count;
    max_clusters_ = std::max(max_clusters_, count);
  }
  label_width_ = manymeans::label_width(max_clusters_);
  label_stride_ = padded(input.points.n, kLabelRows);
}

SessionMemory::SessionMemory(const Input& input, std::unique_ptr<Queue> queue, std::span<const int64_t> k)
    : SessionMemory(input, k) {
  queue_ = std::move(queue);
  lay_out([this](Buffer& buffer, size_t bytes, const char* what) { buffer = Buffer(queue_->runtime(), bytes, what); });
}

int64_t SessionMemory::bytes(const Input& input, std::span<const int64_t> k) {
  size_t all = 0;
  SessionMemory(input, k).lay_out([&](Buffer&, size_t bytes, const char*) { all += bytes; });
  return static_cast<int64_t>(all);
}

size_t SessionMemory::prototype_bytes() const {
  return static_cast<size_t>(width_) * size_of(prototype_type(input_.points.type));
}

template <class Hold>
void SessionMemory::lay_out(const Hold& hold) {
  const auto clusters = static_cast<size_t>(clusters_);
  hold(labels_, first_.size() * static_cast<size_t>(label_stride_ * label_width_), "the labels");
  hold(prototypes_, clusters * prototype_bytes(), "the prototypes");
  hold(before_, clusters * prototype_bytes(), "the prototypes before an update");
  hold(sums_, sum_values(clusters_) * sizeof(int64_t), "the clusters' sums");
  hold(weights_, clusters * sizeof(int64_t), "the clusters' weights");
  hold(counts_, clusters * sizeof(int64_t), "the clusters' counts");
  hold(control_, sizeof(PassControl), "the state of a pass");
}

ModelMemory SessionMemory::model(int slot, int64_t k) const {
  const int64_t first = first_cluster(slot);
  const auto before = static_cast<size_t>(first);
  ModelMemory model;
  model.slot = slot;
  model.k = k;
  model.prototypes = prototypes_.at(before * prototype_bytes());
  model.before = before_.at(before * prototype_bytes());
  model.sums = sums_.at(sum_values(first) * sizeof(int64_t));
  model.weights = weights_.at(before * sizeof(int64_t));
  model.counts = counts_.at(before * sizeof(int64_t));
  return model;
}

}  // namespace manymeans::device
