// How far the swap search of one model is: contract, "Swaps".
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <vector>

namespace manymeans {

struct SwapState {
  Matrix best = {};                ///< the prototypes that trials begin from; empty until the first has ended
  double best_inertia = 0;         ///< theirs, in the units of w'
  double inertia = 0;              ///< of a trial that ends
  std::vector<double> costs = {};  ///< of removing each of the best; empty: not known yet
  int64_t trials = 0;              ///< that have begun, but for the first
  int64_t failures = 0;            ///< in a row
  int64_t steps = -1;              ///< updates of the trial at hand; -1: none is at hand

  bool in_trial() const { return steps >= 0; }
};

}  // namespace manymeans
