// How far the swap search of one model is: contract, "Swaps".
#pragma once

#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>

namespace manymeans {

struct SwapState {
  Matrix best = {};          ///< the converged prototypes that trials begin from; empty: none yet
  double best_inertia = 0;   ///< theirs, in the units of w'
  StopReason reason = StopReason::kNotBegun;  ///< by which they had converged
  int64_t trials = 0;        ///< begun so far
  int64_t failures = 0;      ///< in a row
  int64_t steps = -1;        ///< updates of the trial at hand; -1: none is at hand
  bool over = false;         ///< no further trial
  bool fresh = false;        ///< the model has converged since its last trial: `best` is still to be told
  double inertia = 0;        ///< of the trial that ends

  bool in_trial() const { return steps >= 0; }
};

}  // namespace manymeans
