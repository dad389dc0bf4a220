// Passes of a session over the kd-tree.
#pragma once

#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/pass/cpu_model.h"
#include "backend/cpu/pass/cpu_shared.h"
#include "backend/cpu/tree/tree_pass.h"

#include <memory>
#include <span>
#include <vector>

namespace manymeans {

/// Owns what the tree knows of each model. Before the first pass, and without a kd-tree, it knows nothing.
class CpuTree {
 public:
  CpuTree(const CpuShared& shared, const SessionPlan& plan, ThreadPool& pool)
      : shared_(shared), plan_(plan), pool_(pool) {}

  void advance(std::span<PassModel> active, std::span<CpuModel> models);
  /// Brings the labels up to date in the order of the rows.
  void write_labels(CpuModel& m);
  /// Says that the labels were changed outside a pass.
  void labels_changed(int slot);
  void forget(int slot);

  /// Returns true if the tree holds the labels of the last pass and none was changed since.
  bool knows_labels(int slot) const;
  InertiaSum inertia(int slot, const Matrix& prototypes) const {
    return pass_->inertia(states_[static_cast<size_t>(slot)], prototypes);
  }
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) const {
    return pass_->inertia(states_[static_cast<size_t>(slot)], prototypes, format);
  }

 private:
  const CpuShared& shared_;
  const SessionPlan& plan_;
  ThreadPool& pool_;
  std::unique_ptr<TreePass> pass_;
  std::vector<TreeState> states_;  // by slot
};

}  // namespace manymeans
