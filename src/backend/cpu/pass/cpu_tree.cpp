#include "backend/cpu/pass/cpu_tree.h"

namespace manymeans {

void CpuTree::advance(std::span<PassModel> active, std::span<CpuModel> models) {
  const Input& input = shared_.input;
  if (!pass_) {
    pass_ = std::make_unique<TreePass>(
        TreePoints{input, shared_.kernels, shared_.scales, *shared_.tree, shared_.options.tuning.cpu.bound_scale},
        pool_, plan_.by_label_order);
    states_.resize(models.size());
  }
  std::vector<TreePass::Target> targets;
  for (const PassModel& one : active) {
    CpuModel& m = models[static_cast<size_t>(one.slot)];
    TreeState& state = states_[static_cast<size_t>(one.slot)];
    if (!state.labelled) {
      state.labels = TreeLabels(input.points.n, m.k);
      m.statistics = shared_.empty_statistics(m.k);
    } else if (state.tree_is_old) {
      pass_->read_row_labels(state, m.labels, m.k);
    }
    targets.push_back({&state, &m.statistics, one.prototypes, {}});
  }
  pass_->advance(targets);
  for (size_t i = 0; i < active.size(); ++i) {
    active[i].result = targets[i].result;
    models[static_cast<size_t>(active[i].slot)].labelled = true;
  }
}

void CpuTree::write_labels(CpuModel& m) {
  if (states_.empty()) return;
  TreeState& state = states_[static_cast<size_t>(m.slot)];
  if (!state.row_labels_are_old) return;
  if (m.labels.empty()) m.labels = Labels(shared_.input.points.n, m.k);
  pass_->write_row_labels(state, m.labels);
}

bool CpuTree::knows_labels(int slot) const {
  if (states_.empty()) return false;
  const TreeState& state = states_[static_cast<size_t>(slot)];
  return state.labelled && !state.tree_is_old;
}

void CpuTree::labels_changed(int slot) {
  if (!states_.empty()) states_[static_cast<size_t>(slot)].tree_is_old = true;
}

void CpuTree::forget(int slot) {
  if (!states_.empty()) states_[static_cast<size_t>(slot)] = {};
}

}  // namespace manymeans
