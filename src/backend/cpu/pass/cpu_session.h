// Labels and statistics of an ensemble's models on the CPU.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/pass/cpu_accumulator.h"
#include "backend/cpu/pass/cpu_bounds.h"
#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/pass/cpu_tree.h"
#include "core/threads.h"

#include <span>
#include <vector>

namespace manymeans {

/// Makes passes: the screen labels blocks of rows, bounds spare rows the screen, the accumulator sums what changed.
/// With a kd-tree, the tree does all of that. Owns the models, and the plan by which the others work.
class CpuSession final : public Session, public RowQueries {
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
  RowQueries& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;
  bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) override;

 private:
  CpuModel& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  std::vector<PassTarget> make_targets(std::span<const PassModel> models);
  void prepare_model(CpuModel& m);
  void label_all(std::span<const PassTarget> targets);
  int64_t tiles_between_sorts(size_t models) const;
  void label_block(const PassTarget& target, TileBlock& block, int w, PassResult& result);
  void label_whole_block(const PassTarget& target, const TileBlock& block, int w, PassResult& result);
  void record_changes(const PassTarget& target, const TileBlock& block, int w, PassResult& result);
  void learn_from_pass(const PassTarget& target, const PassResult& result);
  bool begins_with_look(int slot) const;
  void learn_from_look(CpuModel& m, const PassResult& result) const;

  // Labelled rows and their distances to the prototypes of their labels.
  struct DistanceBlock : LabelledBlock {
    const double* d2 = nullptr;
  };
  // Calls body(worker, block) for blocks of all rows.
  template <class Body>
  void for_each_distance(int slot, const Matrix& prototypes, Body&& body);
  DistanceBlock distances_of(int slot, const Matrix& prototypes, int64_t first, int64_t count, Worker& worker);
  template <class T>
  void transform_rows(int64_t first, int64_t last, const Matrix& prototypes, Worker& worker, Matrix& distances) const;
  double farthest_of_sample(int slot, const Matrix& prototypes);
  InertiaSum inertia(int slot, const Matrix& prototypes);
  InertiaSum inertia_near(int slot, const Matrix& prototypes, const SumFormat& guess);

  const CpuShared& shared_;
  CpuDistances distances_;
  ThreadPool pool_;
  SessionPlan plan_;
  std::vector<CpuModel> models_;
  std::vector<std::vector<PassResult>> results_;  // by thread, then by position among the active models
  CpuScreen screen_;
  CpuBounds bounds_;
  CpuAccumulator accumulator_;
  CpuTree tree_;
};

}  // namespace manymeans
