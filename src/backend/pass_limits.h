// Limits of a session's passes before the engine judges.
#pragma once

#include <cstdint>

namespace manymeans {

/// The squared shifts of an update that may be the last one of its model. They are wide enough for all roundings of
/// binary64. A sum of the shifts, in any order, that exceeds them proves that no stop rule holds.
struct ShiftLimits {
  double sum = -1;   ///< all prototypes together at most this; below 0: no rule asks
  double each = -1;  ///< one prototype at most this, ...
  double share = 1;  ///< ... for at least this share of them

  bool any() const { return sum >= 0 || each >= 0; }
};

/// A session stops after `passes` passes, or earlier. It stops after a pass that changed at most `changed` labels or
/// left a cluster empty (unless `relocates`), or whose update may be the last one. Then the engine judges; where the
/// session went on, there was nothing to judge.
struct PassLimits {
  int passes = 1;
  int64_t changed = 0;
  ShiftLimits shifts = {};
  bool relocates = false;  ///< it may give rows to empty clusters (EmptyPolicy::kFarthest), and go on

  PassLimits(int most = 1) : passes(most) {}  // NOLINT(google-explicit-constructor): the plain limit is a number
};

/// The shifts of an update of one model.
struct ShiftCounts {
  double sum = 0;     ///< of the squared shifts
  int64_t still = 0;  ///< prototypes whose squared shift is at most ShiftLimits::each
};

/// Returns whether an update of k prototypes may be the last one of its model. NaN may be anything.
inline bool may_be_last(const ShiftLimits& limits, const ShiftCounts& counts, int64_t k) {
  if (limits.sum >= 0 && !(counts.sum > limits.sum)) return true;
  return limits.each >= 0 && static_cast<double>(counts.still) >= limits.share * static_cast<double>(k);
}

}  // namespace manymeans
