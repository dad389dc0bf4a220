// Messages of a pass's kernels to the host; in the device's memory, alike on all kinds of devices.
#pragma once

#include "backend/pass_limits.h"

#include <cstdint>

namespace manymeans::device {

/// Counts of a pass and the update after it for one model; zeroed before it. All are integers, so that the order of
/// additions does not matter, and devices that share rows find the same.
struct PassCounters {
  unsigned long long changed;
  unsigned long long hash_low, hash_high;  ///< change of the label sum, mod 2^128
  unsigned long long resolved;
  unsigned long long candidates;
  unsigned long long kept;         ///< labels kept without a look
  unsigned long long empty;        ///< clusters of weight 0 after the pass; of many problems: those that got rows
  unsigned long long still;        ///< ShiftCounts of the update, where its limits ask
  unsigned long long shift_units;  ///< of the sum of squared shifts, each rounded down: its limit has kShiftUnits
};

constexpr unsigned long long kShiftUnits = 1ULL << 36;

/// Why the later kernels of a batch do nothing: there is something that the host must judge.
enum Stopped : uint32_t {
  kGoesOn = 0,
  kByPass = 1,  ///< too few labels changed, a cluster is empty, or an update is the host's; the prototypes are those of
                ///< the pass
  kByUpdate = 2,  ///< the update may be the last one; it is done, and the prototypes of the pass stand elsewhere
};

/// How far a batch of passes has come, and may go.
struct PassControl {
  uint32_t stopped = kGoesOn;
  uint32_t passes = 0;     ///< done
  int64_t changed = 0;     ///< see PassLimits
  ShiftLimits shifts{};    ///< see PassLimits
  uint32_t unsolved = 0;   ///< an update was not made: it is the host's
  uint32_t relocates = 0;  ///< see PassLimits
};

}  // namespace manymeans::device
