// What kernels of a pass tell the host; in the device's memory, alike on all kinds of devices.
#pragma once

#include <cstdint>

namespace manymeans::device {

/// What a pass counts for one model; zeroed before it. All additions are integers, so their order does not matter.
struct PassCounters {
  unsigned long long changed;
  unsigned long long hash_low, hash_high;  ///< change of the label sum, mod 2^128
  unsigned long long resolved;
  unsigned long long candidates;
  unsigned long long kept;   ///< labels kept without a look
  unsigned long long empty;  ///< clusters of weight 0 after the pass
};

/// How far a batch of passes has come. Zeroed before it.
struct PassControl {
  uint32_t stopped;  ///< a pass has shown something that the host must judge: later kernels of the batch do nothing
  uint32_t passes;   ///< done
};

}  // namespace manymeans::device
