// Results of a pass of the tensor-core screen for every row's next pass: when they are known, and when they pay. A
// result is the lower score of the row's label, for score thresholds (score_falls.h), or a margin (carried_margins.h).
// A pass that carries margins leaves no scores, since it ranks every column for them. Only speed depends on this:
// labels are always the same. Decisions follow from counts of whole passes.
#pragma once

#include "backend/bounds_policy.h"
#include "backend/cuda/device/pass_screen.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace manymeans::cuda {

/// Returns true if the next pass should skip columns below score thresholds, after a pass that changed `changed` of all
/// models' `labels`. After many changes scores have fallen far, and too many columns are above the thresholds. Such
/// columns cost more the fewer clusters the largest model has. Thresholds do not pay either if the product over many
/// columns takes longer than ranking.
bool thresholds_pay(int64_t changed, int64_t labels, int64_t max_clusters, int64_t columns);

class RowMemory {
 public:
  struct Use {
    bool thresholds = false;                ///< rows may keep scores
    std::optional<bool> always_thresholds;  ///< tests: whether they are used, whatever it costs
    BoundsUse margins = BoundsUse::kNever;  ///< of a session that may carry them
  };
  /// For `models` models; `log` is told when margins begin, and must outlive this.
  RowMemory(const Use& use, int64_t rows, int64_t columns, size_t models, BoundsLog& log);

  void begin_batch(std::span<const ModelMemory> models);
  void begin_pass() { pass_had_margins_.push_back(carries_margins() && left_ == Left::kMargins); }
  void end_pass();

  /// The pass at hand keeps and leaves margins.
  bool carries_margins() const { return policy_.carries(); }
  /// And there are margins of the pass before.
  bool knows_margins() const { return left_ == Left::kMargins; }
  /// The pass at hand passes over columns below thresholds.
  bool uses_thresholds() const { return left_ == Left::kScores && thresholds_pay_ && !carries_margins(); }

  bool learns() const { return use_.thresholds || use_.margins != BoundsUse::kNever; }
  /// See Screen.
  void learn(size_t pass, std::span<const PassCounters> found);
  void end_batch(std::span<const PassCounters> last);
  void forget() { left_ = Left::kNothing; }

 private:
  enum class Left : uint8_t { kNothing, kScores, kMargins };
  struct OfModel {
    int32_t slot;
    int64_t k;
  };

  void note_changes(std::span<const PassCounters> found);
  void weigh_thresholds();
  void learn_of_margins(size_t pass, const PassCounters& found);

  Use use_;
  int64_t rows_;
  int64_t columns_;
  BoundsLog& log_;
  BoundsPolicy policy_;
  Left left_ = Left::kNothing;  // by the last pass, of all rows of the models at work
  bool thresholds_pay_ = false;
  std::vector<int64_t> changed_;  // labels of each slot in the last pass that the host knows of
  std::vector<OfModel> batch_;
  std::vector<uint8_t> pass_had_margins_;  // of this batch
  int64_t passes_ = 0;                     // of all batches that learned
};

}  // namespace manymeans::cuda
