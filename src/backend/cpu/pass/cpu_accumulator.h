// Accumulate: only rows whose label changed touch the order-free sums.
#pragma once

#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/pass/cpu_distances.h"
#include "backend/cpu/pass/cpu_model.h"
#include "backend/cpu/sums/cpu_changes.h"
#include "core/threads.h"

#include <mutex>
#include <span>
#include <vector>

namespace manymeans {

/// Compares new labels with a model's labels, stores them, and adds the difference to its statistics. Owns what each
/// thread has changed and not yet added.
class CpuAccumulator {
 public:
  CpuAccumulator(const CpuShared& shared, const SessionPlan& plan, std::span<const int64_t> k, ThreadPool& pool);

  /// Makes room for the threads. Call it before any other function.
  void prepare();
  /// Makes room for a pass of this model.
  void prepare_model(const CpuModel& m);
  /// Records the changes that thread w found. They reach the statistics at the latest in merge_deltas(), or in
  /// apply_by_label() where the plan says so.
  void record_changes(CpuModel& m, const LabelledBlock& block, int w, PassResult& result);
  /// Adds what every thread changed, cluster by cluster, and clears it.
  void merge_deltas(CpuModel& m);
  /// Does so from lists of changes that are sorted by cluster. Each cluster's sums have one owner, and no thread needs
  /// a copy of them.
  void apply_by_label(CpuModel& m);
  void move_row(const Change& change, Statistics& statistics) {
    apply_change(change, scratch_[0], statistics, nullptr);
  }
  void forget(int slot);

 private:
  struct Scratch {
    std::vector<uint32_t> old_labels;  // of a block, in whole tiles
    std::vector<uint32_t> changed;     // places of the rows whose labels differ
    std::vector<float> wide_f32;       // rows of narrow types
    std::vector<double> terms;         // of one row, where they are not its values
    std::vector<double> products;      // of some rows
    SortedChanges sorted;              // of a block
    AlignedBuffer<double> columns;     // of a segment
    std::vector<Delta> deltas;         // by slot
    std::vector<Changes> changes;      // by slot
    Changes multiples;                 // of rows whose multiplicity is above one
  };
  struct ByCluster;

  template <class T>
  void add_values(const T* values, double weight, int64_t* to, int64_t* from) const;
  void add_row(int64_t row, Scratch& scratch, int64_t* to, int64_t* from) const;
  void apply_change(const Change& change, Scratch& scratch, Statistics& statistics,
                    std::vector<uint8_t>* touched) const;
  LabelSum hash_change(const Changes& changes, int64_t first) const;
  void prepare_delta(Delta& delta, int64_t k) const;
  void move_in_limbs(const Changes& changes, Scratch& scratch, Delta& delta, Statistics& statistics);
  void move_in_units(const Changes& changes, bool from_nowhere, Scratch& scratch, UnitDelta& delta,
                     Statistics& statistics);
  int64_t move_some(const MovedRows& moved, const UnitSums& sums, Scratch& scratch) const;
  int64_t move_some_products(const MovedRows& moved, const UnitSums& sums, Scratch& scratch) const;
  void move_segments(const Changes& changes, Scratch& scratch, UnitDelta& delta, Statistics& statistics);
  void move_weights(const MovedRows& moved, int64_t count, UnitDelta& delta) const;
  void flush_products(const int64_t* sums, int sign, int64_t* limbs) const;
  void flush(UnitDelta& delta, int64_t cluster, Statistics& statistics, int64_t to, int sign) const;
  ByCluster sort_changes(const CpuModel& m);
  void apply_cluster_in_units(const ByCluster& sorted, int64_t k, Scratch& scratch, UnitDelta& space,
                              Statistics& statistics) const;
  void apply_cluster_in_limbs(const ByCluster& sorted, int64_t k, Scratch& scratch, Statistics& statistics,
                              std::vector<int64_t>& leaving) const;

  const CpuShared& shared_;
  const SessionPlan& plan_;
  CpuDistances distances_;
  ThreadPool& pool_;
  size_t models_;
  std::mutex flushing_;     // of full clusters while a pass runs
  bool unit_sums_ = false;  // statistics change in units
  std::vector<Scratch> scratch_;
};

}  // namespace manymeans
