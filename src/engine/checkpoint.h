// How far a fit is, saved while it runs, and restored.
//
// Why so little is enough: a labelling pass is a function of the points and the prototypes alone. It is the argmin of
// canonical distances, and exact integer sums over it. The initial prototypes are a function of the options. So a model
// is saved right after a pass, *with the prototypes of that pass* and before any code looks at what it says. A resumed
// fit makes that pass once more in a session that has never seen a label. It gets the same labels and statistics,
// whatever led there: labels of the pass before, rows moved to empty clusters, clusters dropped, bounds. The repeated
// pass cannot know how its labels compare with earlier ones. The file has these numbers: changed rows, the change of
// the label sum and the memory of the cycle finder. Judging, relocating, dropping, solving and the stop rules then
// follow from the same values as in the fit that was not disturbed. A finished model finishes again in the same way, so
// its inertia and labels need not be kept. A stop by the clock or the caller leaves the state from before it. A swap
// search that was cut short may make one more pass, of its best state: that pass is not saved.
//
// A tree has a state for each split, and one for its flat fit. Splits give the labels of a level, and so the rows of
// the nodes below. A split by another rank, or by a common pass of a device, is saved by its end alone: prototypes,
// iterations and stop reason. The repeated pass gives its labels, and its clusters have their numbers already.
#pragma once

#include <manymeans/fit.h>

#include "data/input.h"
#include "engine/member.h"
#include "io/files/output_file.h"
#include "io/results/checkpoint_file.h"

#include <chrono>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {

/// Names and values of the options that can change the answer.
std::vector<std::pair<std::string, std::string>> deciding_options(const FitOptions& options);

struct TreeOptions;
std::vector<std::pair<std::string, std::string>> deciding_options(const TreeOptions& options);

/// Throws Error(kUsage) for a negative number of passes.
void check(const CheckpointOptions& options);

/// Returns what tells this fit from others. Reads the points once. With several ranks, all of them call it.
FitIdentity identity_of(const Input& input, std::span<const double> weights, const FitOptions& options,
                        const PointsView& initial, ThreadPool& pool);

/// The rank that writes the checkpoint: the first one that is given its path; comm.size() where none is.
int64_t writing_rank(const FitHooks& hooks, Comm& comm);

/// The checkpoint of one fit, or of a call of many, or the part of the latter that one of the fits has. Several threads
/// may report to it.
class Checkpoint {
 public:
  /// `members` are all models of the ensemble and must outlive this; a tree has none, and any number of states. One of
  /// several ranks writes the file. Throws Error(kUnavailable) if the file could not be written now. Throws
  /// Error(kUsage) where another fit has it, or it is no checkpoint.
  Checkpoint(const FitHooks& hooks, FitIdentity identity, std::span<Member> members, bool writes);
  /// Of a call of many fits with `models` models in all, which counts fits.
  Checkpoint(const FitHooks& hooks, FitIdentity identity, size_t models);
  /// Of one fit of a call of many. `whole` has its states, from number `first` on, and writes the file.
  Checkpoint(Checkpoint& whole, size_t first, std::span<Member> members);

  /// Takes the states that the file has, if it is to be resumed. Returns whether there are any. Throws as resume().
  bool load();
  /// Throws Error(kUsage) if ranks go on from different states: one may have been given another file, or none.
  void check_same(ThreadPool& pool, Comm& comm) const;
  /// A state of a tree, which has any number of them. Not while fits report to it.
  ModelState& state(size_t number);
  /// Puts the members where the states say. Throws Error(kBadData) for states that no fit of them has.
  void restore(const FitOptions& options, const Input& input);

  /// Puts the members where the file says they were. Does nothing without `resume` or without a file. Throws Error:
  /// kUsage for other options, kBadData for other points or a damaged file.
  void resume(const FitOptions& options, const Input& input);

  /// A member has its initial prototypes.
  void initialised(const Member& member);
  /// The search before the fit has done a round.
  void searched(const Member& member);
  /// A pass has labelled the rows by member.prototypes and changed `changed` of them; it is not judged yet.
  void labelled(const Member& member, int64_t changed);
  /// Counts `passes` more passes, and writes the file if it is time to. Throws Error(kUsage) before the first write
  /// where another fit has begun to write there.
  void count(int64_t passes);
  /// Passes until it must be written; at least 1.
  int64_t passes_left() const;
  /// After an error, and throws none.
  void write_now();
  /// At the end of the fit; throws as count() does.
  void finish();
  /// Returns messages about what could not be written.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  using Clock = std::chrono::steady_clock;
  Checkpoint& whole() { return whole_ ? *whole_ : *this; }
  std::span<ModelState> own_states() { return std::span(whole().file_.models).subspan(first_, members_.size()); }
  ModelState& state_of(const Member& member);
  void check_identity(const FitIdentity& found) const;
  void check_state(const ModelState& state, const Member& member, const FitOptions& options) const;
  void check_first() const;
  void write();

  const FitHooks& hooks_;
  const CheckpointOptions& how_;
  bool writes_;
  bool counts_fits_ = false;
  Checkpoint* whole_ = nullptr;  // of whose states this has some, the first being number first_
  size_t first_ = 0;
  bool tried_ = false;  // to write it
  FileLock lock_;
  std::span<Member> members_;
  mutable std::mutex mutex_;
  CheckpointFile file_;
  int64_t passes_ = 0;  // since it was written
  Clock::time_point last_ = Clock::now();
  Clock::duration pause_;
  std::vector<std::string> warnings_;
};

}  // namespace manymeans
