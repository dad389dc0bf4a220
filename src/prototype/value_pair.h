// The pairs of values whose products are the terms of a row's sums: contract, "Linear models".
#pragma once

#include "core/everywhere.h"

#include <cstdint>

namespace manymeans {

/// A pair i <= j of the d columns of a row and a 1. The last column is the target; the 1 is number d.
struct ValuePair {
  int i = 0;
  int j = 0;

  /// Pairs of rows of d columns but (1, 1).
  MANYMEANS_EVERYWHERE static int64_t count(int64_t d) { return (d + 1) * (d + 2) / 2 - 1; }
  /// Which of them the pair is.
  MANYMEANS_EVERYWHERE static int64_t number(int64_t i, int64_t j, int64_t d) { return i * (2 * d + 1 - i) / 2 + j; }
  /// `steps` pairs on, row by row of the upper triangle.
  MANYMEANS_EVERYWHERE void advance(int steps, int d) {
    j += steps;
    while (i < d && j > d) {
      j -= d - i;
      ++i;
    }
  }
};

}  // namespace manymeans
