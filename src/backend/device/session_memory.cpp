#include "backend/device/session_memory.h"

#include <algorithm>
#include <utility>

namespace manymeans::device {
namespace {

constexpr int64_t kLabelRows = 128;  // kernels may read and write labels of so many rows together

}  // namespace

SessionMemory::SessionMemory(const Input& input, std::unique_ptr<Queue> queue, std::span<const int64_t> k)
    : input_(input), queue_(std::move(queue)) {
  for (const int64_t count : k) {
    first_.push_back(clusters_);
    clusters_ += count;
    most_clusters_ = std::max(most_clusters_, count);
  }
  label_width_ = most_clusters_ <= 256 ? 1 : (most_clusters_ <= 65536 ? 2 : 4);
  label_stride_ = (input.points.n + kLabelRows - 1) / kLabelRows * kLabelRows;
  const Runtime& runtime = queue_->runtime();
  const auto clusters = static_cast<size_t>(clusters_);
  const auto labels = k.size() * static_cast<size_t>(label_stride_ * label_width_);
  const size_t row_bytes = static_cast<size_t>(input.points.d) * size_of(prototype_type(input.points.type));
  labels_ = Buffer(runtime, labels, "the labels");
  prototypes_ = Buffer(runtime, clusters * row_bytes, "the prototypes");
  sums_ = Buffer(runtime, sum_values(clusters_) * sizeof(int64_t), "the clusters' sums");
  weights_ = Buffer(runtime, clusters * sizeof(int64_t), "the clusters' weights");
  counts_ = Buffer(runtime, clusters * sizeof(int64_t), "the clusters' counts");
}

ModelMemory SessionMemory::model(int slot, int64_t k) const {
  const int64_t first = first_cluster(slot);
  const auto before = static_cast<size_t>(first);
  const size_t row_bytes = static_cast<size_t>(input_.points.d) * size_of(prototype_type(input_.points.type));
  ModelMemory model;
  model.slot = slot;
  model.k = k;
  model.prototypes = prototypes_.at(before * row_bytes);
  model.sums = sums_.at(sum_values(first) * sizeof(int64_t));
  model.weights = weights_.at(before * sizeof(int64_t));
  model.counts = counts_.at(before * sizeof(int64_t));
  return model;
}

}  // namespace manymeans::device
