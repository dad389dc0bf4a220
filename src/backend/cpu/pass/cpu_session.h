// Labels and statistics of an ensemble's models on the CPU.
#pragma once

#include "backend/cpu/pass/cpu_accumulator.h"
#include "backend/cpu/pass/cpu_bounds.h"
#include "backend/cpu/pass/cpu_row_queries.h"
#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/pass/cpu_tree.h"
#include "backend/session.h"
#include "core/threads.h"

#include <span>
#include <vector>

namespace manymeans {

/// Makes passes: the screen labels blocks of rows, bounds spare rows the screen, the accumulator sums what changed.
/// With a kd-tree, the tree does all of that. Owns the models, and the plan by which the others work.
class CpuSession final : public Session {
 public:
  CpuSession(const CpuShared& shared, std::span<const int64_t> k, int threads);

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override {
    tree_.write_labels(model(slot));
    return model(slot).labels;
  }
  const Statistics& statistics(int slot) override { return model(slot).statistics; }
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  void reorder(int slot, std::span<const int64_t> order) override;
  RowQueries& rows() override { return queries_; }

 private:
  CpuModel& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  std::vector<PassTarget> make_targets(std::span<const PassModel> models);
  void prepare_model(CpuModel& m);
  void replace_labels(CpuModel& m, std::span<const uint32_t> new_label, std::span<const int64_t> kept);
  void label_all(std::span<const PassTarget> targets);
  int64_t tiles_between_sorts(size_t models) const;
  void label_block(const PassTarget& target, TileBlock& block, int w, PassResult& result);
  void label_whole_block(const PassTarget& target, const TileBlock& block, int w, PassResult& result);
  void record_changes(const PassTarget& target, const TileBlock& block, int w, PassResult& result);
  void learn_from_pass(const PassTarget& target, const PassResult& result);
  bool begins_with_look(int slot) const;
  void learn_from_look(CpuModel& m, const PassResult& result) const;

  const CpuShared& shared_;
  ThreadPool pool_;
  SessionPlan plan_;
  std::vector<CpuModel> models_;
  std::vector<std::vector<PassResult>> results_;  // by thread, then by position among the active models
  CpuScreen screen_;
  CpuBounds bounds_;
  CpuAccumulator accumulator_;
  CpuTree tree_;
  CpuRowQueries queries_;
};

}  // namespace manymeans
