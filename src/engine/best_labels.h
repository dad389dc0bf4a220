// Whose labels a fit hands over (FitHooks::labels), and the label sums of the others.
#pragma once

#include <manymeans/fit.h>

#include "core/digest.h"
#include "core/threads.h"
#include "engine/member.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace manymeans {

/// The finished models of one fit, as far as they know of each other. Several threads may call it at once.
class BestLabels {
 public:
  explicit BestLabels(LabelsOf of) : all_(of == LabelsOf::kAll) {}

  /// Returns whether the caller may read all models' labels.
  bool all() const { return all_; }
  /// This model, a member of the ensemble, is done, and has its inertia.
  void add(const Member& member);
  /// Returns whether the caller may read the labels of a model that was added: no added model is better than it.
  bool wants(const Member& member) const;
  /// Removes the labels of every model that is not the best of its k (FitResult::best()).
  void keep_best(FitResult& result) const;

 private:
  bool all_;
  mutable std::mutex mutex_;
  using Key = std::pair<int64_t, int64_t>;  // problem and k
  static Key key_of(const Member& member);
  std::map<Key, std::pair<double, int64_t>> best_;  // inertia and index
};

/// ModelResult::label_sum.
void set_label_sum(ModelResult& model, LabelSum sum);
/// Sums the label sums over all ranks. `first_row` is the number of this rank's first row among all.
void add_label_sums(FitResult& result, int64_t first_row, Comm& comm);
/// label_sum() on the pool's threads.
LabelSum label_sum(const Labels& labels, int64_t first_row, ThreadPool& pool);

}  // namespace manymeans
