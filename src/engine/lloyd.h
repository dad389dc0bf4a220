// The only Lloyd loop in the tree.
#pragma once

#include "backend/backend.h"
#include "core/threads.h"
#include "engine/best_labels.h"
#include "engine/checkpoint.h"
#include "engine/control.h"
#include "engine/fit_kind.h"
#include "engine/inertia_estimate.h"
#include "engine/member.h"
#include "engine/stop_rules.h"
#include "init/init.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {

/// The objects that all Lloyd runs of a fit share.
struct FitContext {
  const Input& input;
  const FitOptions& options;
  const FitHooks& hooks;
  Backend& backend;
  Upload& upload;    ///< the points, for the choice of prototypes
  Upload& labelled;  ///< whose sessions label the rows: the same, or one of clusters of given sizes
  Control& control;
  BestLabels& labels;
  std::vector<StopRule> rules;
  double mean_variance = 0;
  const FitKind& kind;
  std::function<std::optional<Labels>(const Clustering&, int threads, TimeLimit)> cluster;  ///< InitContext::cluster
  const InertiaEstimate* estimate = nullptr;  ///< null where nothing is reported
  Checkpoint* checkpoint = nullptr;           ///< null where none is written
  /// One that stays when a run is done, with a slot for each of Member::slot; null: every run has its own. The next
  /// run's first passes find the labels of the last one there, and no labels are handed over.
  Session* session = nullptr;
  /// A time limit waits for the first pass of the first model of the fit. Not so in a fit that is a part of another
  /// one.
  bool waits_for_first = false;
};

/// The cost of a run.
struct Cost {
  int64_t passes = 0;
  PassLog sum;                                                 ///< over all passes
  std::vector<PassLog> log;                                    ///< of the first passes
  double initialise = 0, iterate = 0, update = 0, finish = 0;  ///< seconds

  void add_pass(const PassLog& pass);
  Cost& operator+=(const Cost& other);
};

/// Initialises and iterates these models together: in one pass per iteration for all that are still active, on the
/// pool's threads. Members from a checkpoint continue from there; members that never began are left so. If a time limit
/// ends the initialisation, members whose prototypes are ready get one pass. If there are none, the first member of the
/// fit is initialised first, whatever the clock says.
Cost run_lloyd(const FitContext& context, std::span<Member> members, ThreadPool& pool);

}  // namespace manymeans
