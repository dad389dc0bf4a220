// Passes of a session over the kd-tree.
#include "backend/cpu/pass/cpu_session.h"
#include "backend/cpu/tree/tree_pass.h"

#include <memory>
#include <vector>

namespace manymeans {

CpuSession::~CpuSession() = default;

int CpuSession::advance_tree(std::span<PassModel> models) {
  const Input& input = shared_.input;
  if (!tree_pass_) {
    tree_pass_ = std::make_unique<TreePass>(
        TreePoints{input, shared_.kernels, shared_.scales, *shared_.tree, shared_.options.tuning.cpu.bound_scale},
        pool_, plan_.by_label_order);
    for (Model& m : models_) m.tree = std::make_unique<TreeState>();
  }
  std::vector<TreePass::Target> targets;
  for (const PassModel& active : models) {
    Model& m = model(active.slot);
    if (!m.tree->labelled) {
      m.tree->labels = TreeLabels(input.points.n, m.k);
      m.statistics = empty_statistics(m.k);
    } else if (m.tree->tree_is_old) {
      tree_pass_->read_row_labels(*m.tree, m.labels, m.k);
    }
    targets.push_back({m.tree.get(), &m.statistics, active.prototypes, {}});
  }
  tree_pass_->advance(targets);
  for (size_t i = 0; i < models.size(); ++i) {
    models[i].result = targets[i].result;
    model(models[i].slot).labelled = true;
  }
  return 1;
}

void CpuSession::sync_labels(int slot) {
  Model& m = model(slot);
  if (!m.tree || !m.tree->row_labels_are_old) return;
  if (m.labels.empty()) m.labels = Labels(shared_.input.points.n, m.k);
  tree_pass_->write_row_labels(*m.tree, m.labels);
}

// The labels of the last pass stand in the tree, and were not changed since.
bool CpuSession::tree_knows_labels(int slot) {
  const Model& m = model(slot);
  return m.tree && m.tree->labelled && !m.tree->tree_is_old;
}

void CpuSession::labels_changed(int slot) {
  Model& m = model(slot);
  if (m.tree) m.tree->tree_is_old = true;
}

}  // namespace manymeans
