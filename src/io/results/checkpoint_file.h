// The file in which a fit saves how far it is: docs/user/checkpoints.md.
#pragma once

#include <manymeans/io.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include "core/label_term.h"
#include "data/content_hash.h"
#include "io/results/search_record.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

class FileLock;

/// How far a model has come.
enum class ModelStage : uint8_t {
  kNotBegun,     ///< nothing is known of it
  kInitialised,  ///< its initial prototypes are there
  kLabelled,     ///< a labelling pass with these prototypes is done, and what it says was not looked at yet
};

/// One model, without anything that has a value for each row: labels and statistics follow from the prototypes.
struct ModelState {
  ModelStage stage = ModelStage::kNotBegun;
  Matrix prototypes;        ///< k x D: the initial ones, or those of the last pass
  int64_t iterations = 0;   ///< updates done
  int64_t changed = 0;      ///< rows whose label that pass changed
  bool first_pass = false;  ///< it was the model's first
  bool stopping = false;    ///< a reason to stop was known before it
  bool relocated = false;   ///< the update before it moved rows to empty clusters
  StopReason stop_reason = StopReason::kNotBegun;
  LabelSum label_change = 0;  ///< change of the label sum since the first pass
  LabelSum cycle_saved = 0;   ///< Brent's method: the saved state, and where it is
  uint64_t cycle_power = 1;
  uint64_t cycle_step = 0;
  bool cycle_begun = false;
  double last_inertia = std::numeric_limits<double>::quiet_NaN();  ///< of the pass before; NaN: not known
  std::vector<std::string> warnings;
  // The swap search of linear models; the file has it where a model has one.
  Matrix search_best;           ///< k x D: the best prototypes so far; empty until the first trial has ended
  double search_inertia = 0;    ///< theirs
  int64_t search_trials = 0;    ///< that have begun, but for the first
  int64_t search_failures = 0;  ///< in a row
  int64_t search_steps = 0;     ///< updates of the trial at hand, and 1; 0: none is at hand

  SearchRecord sought;  ///< the search for the best model before the fit; the file has it where a model has one

  bool swaps() const { return search_steps > 0 || !search_best.empty(); }
};

/// The inputs that decide a fit, as far as needed to tell another fit from this one.
struct FitIdentity {
  std::vector<std::pair<std::string, std::string>> options;  ///< that decide the answer: name, value as text
  int64_t rows = 0;
  int64_t columns = 0;
  DataType type = DataType::kFloat32;
  ContentHash points = 0;
  ContentHash weights = 0;  ///< 0: none
  ContentHash initial = 0;  ///< of given prototypes; 0: none
};

struct CheckpointFile {
  FitIdentity identity;
  std::vector<ModelState> models;  ///< in the order of the ensemble
};

/// Replaces the file at once: a reader, also after a crash, finds the old one or the new one. Throws
/// Error(kUnavailable). Time and bytes O(sum of k D); nothing is copied. `lock`, if there is one, has the new file from
/// the first moment on.
void save_checkpoint(const std::string& path, const CheckpointFile& file, FileLock* lock = nullptr);

/// Throws Error(kBadData) naming the file, and the key in it, for whatever is damaged, missing or out of range;
/// Error(kUnavailable) if there is not enough memory.
CheckpointFile load_checkpoint(const std::string& path);

}  // namespace manymeans
