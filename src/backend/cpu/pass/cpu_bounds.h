// Rows whose label cannot have changed since the pass before are not looked at; the others are gathered into tiles.
#pragma once

#include "backend/bounds_policy.h"
#include "backend/cpu/pass/cpu_model.h"
#include "backend/cpu/pass/cpu_screen.h"
#include "backend/cpu/screen/carried_bounds.h"

#include <span>
#include <vector>

namespace manymeans {

/// Decides which models carry bounds, and labels rows by them. Owns the bounds of every model. Rows that may not keep
/// their label go through the screen.
class CpuBounds {
 public:
  CpuBounds(const CpuShared& shared, const SessionPlan& plan, CpuScreen& screen, std::span<const int64_t> k);

  /// Makes room for the threads. Call it before a pass.
  void prepare();
  /// At the beginning of a pass: follows the prototypes, and sets which targets carry bounds.
  void follow(std::span<PassTarget> targets, std::span<const CpuModel> models, ThreadPool& pool);
  /// At its end.
  void learn(const PassTarget& target, const PassResult& result);

  bool wanted(int slot) const { return models_[static_cast<size_t>(slot)].policy.carries(); }
  /// Returns true if rows may keep their labels in this pass.
  bool known(const PassTarget& target) const {
    return target.carries && models_[static_cast<size_t>(target.slot)].bounds.known();
  }
  /// Lists the rows of a block that may not keep their label. Returns how many there are.
  int64_t list_rows_to_screen(const PassTarget& target, const Labels& labels, const TileBlock& block, int w,
                              PassResult& result);
  /// Labels the listed rows. The worker then has the labels of the whole block.
  void label_rows_to_screen(const PassTarget& target, const TileBlock& block, int w, PassResult& result);
  /// After find_labels: sets the bounds of the block's rows from their certificates or their candidates.
  void renew(const PassTarget& target, const TileBlock& block, int w);

  /// Labels changed outside a pass: nothing is known of any row, or of this one.
  void forget(int slot) { model(slot).bounds.forget(); }
  void reorder(int slot, std::span<const int64_t> order) { model(slot).bounds.reorder(order); }
  void forget_row(int slot, int64_t row) { model(slot).bounds.forget_row(row); }
  void release(int slot) { model(slot).bounds = {}; }

 private:
  struct Model {
    BoundsPolicy policy;
    TighteningChoice tightening;
    CarriedBounds bounds;
    bool began = false;  // the log (BoundsLog) has the first pass with bounds
  };
  struct Scratch {
    AlignedBuffer<float> nearest, others;  // of the rows that were screened
    std::vector<uint32_t> to_screen;       // places of the rows that may not keep their label
    std::vector<uint8_t> lack_classes;     // of the rows to screen
    std::vector<uint32_t> chosen;          // which of the rows to screen are tightened
    std::vector<double> assigned_d2;       // the distances of the chosen to their assigned prototypes
    std::vector<TighteningTrials> trials;  // by slot
    std::vector<uint32_t> kept;            // labels of the block, so far
    AlignedBuffer<std::byte> gathered;     // tiles of the rows to screen
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  Scratch& scratch(int w) { return scratch_[static_cast<size_t>(w)]; }
  void make_room_for_bounds(const CpuModel& labelled);
  void tighten(const PassTarget& target, const TileBlock& block, int w, PassResult& result);

  const CpuShared& shared_;
  const SessionPlan& plan_;
  CpuDistances distances_;
  CpuScreen& screen_;
  std::vector<Model> models_;
  std::vector<Scratch> scratch_;
};

}  // namespace manymeans
