// Comparisons of centres by distance and of swaps by change, for the device and for tests on the host.
#pragma once

#include "core/everywhere.h"

#include <cstdint>

namespace manymeans::cuda {

/// A number of a centre, and how far away it is, or what it costs.
struct Ranked {
  double value;
  uint32_t number;

  /// The lower number first of equals.
  MANYMEANS_EVERYWHERE friend bool operator<(const Ranked& a, const Ranked& b) {
    return a.value < b.value || (a.value == b.value && a.number < b.number);
  }
};

/// The first two elements seen, in any order of look_at() calls.
struct FirstTwo {
  Ranked first, second;

  MANYMEANS_EVERYWHERE void look_at(const Ranked& other) {
    if (other < first) {
      second = first;
      first = other;
    } else if (other < second) {
      second = other;
    }
  }
};

}  // namespace manymeans::cuda
