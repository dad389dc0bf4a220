// The swap search of linear models. A trial replaces the least useful prototype of a model by the best of several
// candidates, and lets the model iterate a little. The better model stays. Contract, "Swaps".
#pragma once

#include "backend/session.h"
#include "backend/upload.h"
#include "core/threads.h"
#include "data/input.h"
#include "engine/member.h"

#include <cstdint>
#include <optional>
#include <span>

namespace manymeans {

/// The next step of a model after a pass.
enum class Verdict : uint8_t {
  kGoesOn,  ///< with another pass
  kWaits,   ///< for the next trial of its swap search
  kDone,
};

/// The first trial replaces nothing: it brings the initial prototypes somewhere. A single prototype needs no search.
void begin_search(Member& member);

/// The search is over, or the caller stops it for this reason. The best prototypes go on, or label the rows once more.
void return_to_best(Member& member, std::optional<StopReason> reason);

/// The policy of models in a trial: what a Lloyd run asks for them, where it applies the stop rules to other models.
class SwapTrials {
 public:
  struct Services {
    const Input& input;
    Upload& upload;
    Session& session;
    ThreadPool& pool;
  };

  /// A search ends after `max_failures` trials in a row without success. `together` trials are prepared at a time.
  SwapTrials(const Services& services, int64_t max_failures, size_t together)
      : services_(services), max_failures_(max_failures), together_(together) {}

  /// Begins the next trial of every member: its prototypes are the best with one replaced. All members share readings
  /// of the points. If there is nothing to gain, the search is over.
  void begin(std::span<Member* const> members) const;

  /// The passes of the trial at hand, up to the one that ends it.
  static int64_t passes_left(const SwapState& search);

  /// Takes over the passes that a session made on its own.
  static void follow(Member& member, PassModel& model);

  /// Returns whether a pass that changed so many labels ends the trial. `outer` ends a model in any state.
  static bool ends(const SwapState& search, int64_t changed, std::optional<StopReason> outer);

  /// Sets the inertias of trials that end, by one reading of the points.
  void measure(std::span<Member* const> ending) const;

  /// Updates the prototypes without stop rules. Empty clusters keep theirs, whatever the policy of the fit is.
  void update(Member& member) const;

  /// Judges a trial that has ended, and was measured.
  Verdict judge(Member& member, std::optional<StopReason> outer) const;

 private:
  Services services_;
  int64_t max_failures_;
  size_t together_;
};

}  // namespace manymeans
