// The computations of a session of many small problems (device/problem_session.h).
#pragma once

#include "backend/device/pass_state.h"
#include "backend/device/queue.h"
#include "backend/device/row_slices.h"

#include <cstdint>
#include <span>

namespace manymeans::device {

/// A model of a problem, as kernels know it.
struct ProblemModel {
  int64_t first_row = 0;  ///< among the points
  int64_t rows = 0;
  int64_t first_label = 0;    ///< among the labels of all models
  int64_t first_cluster = 0;  ///< among the clusters of all models
  int32_t k = 0;
  uint32_t active = 0;      ///< takes part
  uint32_t first_pass = 0;  ///< there are no labels before the batch
  uint32_t unused = 0;
};

/// The memory of all models, one behind the other.
struct ProblemBatch {
  std::span<const ProblemModel> here;  ///< the host's copy of `models`
  Rows rows;                           ///< all points
  Address models;                      ///< ProblemModel
  Address controls;                    ///< PassControl, one for each model
  Address counters;                    ///< PassCounters of the pass at hand, one for each model
  Address labels;                      ///< `label_width` bytes each
  Address prototypes, before;          ///< (clusters, D)
  Address sums;                        ///< (clusters, limbs, D)
  Address weights, counts;             ///< clusters
  int label_width = 1;
};

/// Facts about the rows of a model and the prototypes that its labels assign them to; zeroed before.
struct ProblemFacts {
  uint64_t farthest;             ///< the bits of the largest d2
  uint64_t hash_low, hash_high;  ///< the label sum
};

/// Functions enqueue what they do for the active models.
class ProblemKernels {
 public:
  virtual ~ProblemKernels() = default;

  virtual void use_device() const {}
  /// Returns whether pass() proves labels. Its counter `resolved` has the other rows.
  virtual bool screens() const { return false; }
  /// `here` has changed.
  virtual void begin(const ProblemBatch& batch) = 0;
  /// A pass of the models that have not stopped: labels, and what their changes do to statistics and counters.
  virtual void pass(const ProblemBatch& batch) = 0;
  /// Counts the pass of each model, and stops the model if the engine must judge. Unless `last`, the others get an
  /// update, which may stop them, too. Where PassControl::relocates says so, empty clusters may get rows before it:
  /// the counter `empty` says how many, and the label sum has their changes.
  virtual void update(const ProblemBatch& batch, bool last) = 0;
  /// `facts`: ProblemFacts, one for each model.
  virtual void facts(const ProblemBatch& batch, Address facts) = 0;
  /// Adds the limbs of the rows' d2, kDistanceLimbs int64 for each model. `formats`: SumFormat, one for each model.
  virtual void terms(const ProblemBatch& batch, std::span<const SumFormat> formats, Address limbs) = 0;
  /// Writes d2 of the rows of the only active model, binary64.
  virtual void distances(const ProblemBatch& batch, Address out) = 0;
  /// Writes the minimum and maximum of each column of the rows, (models, 2, D) binary64.
  virtual void ranges(const ProblemBatch& batch, Address ranges) = 0;
};

}  // namespace manymeans::device
