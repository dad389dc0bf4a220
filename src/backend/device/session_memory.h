// A session's memory on its device, for any kernels: labels, prototypes and statistics of its models.
#pragma once

#include <manymeans/points.h>

#include "backend/device/queue.h"
#include "data/input.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace manymeans::device {

/// One model where kernels find it.
struct ModelMemory {
  int slot = 0;
  bool labelled = false;  ///< there are labels of an earlier pass
  int64_t k = 0;
  Address prototypes;  ///< k x width, float32 or float64
  Address before;      ///< the prototypes before the last update
  Address sums;        ///< (k, limbs, terms), int64
  Address weights;     ///< k, int64
  Address counts;      ///< k, int64
};

class SessionMemory {
 public:
  /// Of models with these numbers of prototypes. `input` must outlive this.
  SessionMemory(const Input& input, std::unique_ptr<Queue> queue, std::span<const int64_t> k);
  /// The bytes of the device's memory that it takes.
  static int64_t bytes(const Input& input, std::span<const int64_t> k);

  const Input& input() const { return input_; }
  const Queue& queue() const { return *queue_; }
  int models() const { return static_cast<int>(first_.size()); }
  int64_t clusters() const { return clusters_; }          ///< of all models
  int64_t max_clusters() const { return max_clusters_; }  ///< of one

  int label_width() const { return label_width_; }        ///< bytes of a label of any model: 1, 2 or 4
  int64_t label_stride() const { return label_stride_; }  ///< labels from one model's to the next
  /// Labels of the rows from `first` on.
  Address labels(int slot, int64_t first = 0) const {
    return labels_.at(static_cast<size_t>((slot * label_stride_ + first) * label_width_));
  }
  /// With k clusters now.
  ModelMemory model(int slot, int64_t k) const;

  int64_t width() const { return width_; }  ///< values of a prototype
  int64_t terms() const { return terms_; }  ///< of a cluster's sums
  size_t sum_values(int64_t k) const { return static_cast<size_t>(k * terms_ * input_.limbs); }
  const Buffer& sums() const { return sums_; }
  const Buffer& weights() const { return weights_; }
  const Buffer& counts() const { return counts_; }
  Address control() const { return control_.at(); }  ///< PassControl
  int64_t first_cluster(int slot) const { return first_[static_cast<size_t>(slot)]; }

 private:
  SessionMemory(const Input& input, std::span<const int64_t> k);
  size_t prototype_bytes() const;
  // Calls hold(buffer, bytes, what) for each buffer.
  template <class Hold>
  void lay_out(const Hold& hold);

  const Input& input_;
  int64_t width_ = 0;
  int64_t terms_ = 0;
  std::vector<int64_t> first_;  // each model's first cluster among all clusters
  int64_t clusters_ = 0;
  int64_t max_clusters_ = 1;
  int label_width_ = 1;
  int64_t label_stride_ = 0;
  std::unique_ptr<Queue> queue_;
  Buffer labels_, prototypes_, before_, sums_, weights_, counts_, control_;
};

}  // namespace manymeans::device
