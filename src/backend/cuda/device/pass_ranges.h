// The models of a pass as the device sees them.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/device/pass_state.h"

#include <cstdint>

namespace manymeans::cuda {

using device::PassControl;
using device::PassCounters;

/// One active model of a batch of passes.
struct PassRange {
  int32_t slot = 0;
  int32_t first_pass = 0;  ///< there are no labels before the batch's first pass
  int64_t k = 0;
  int64_t first = 0;                 ///< its first column among the padded ones of all ranges
  const void* prototypes = nullptr;  ///< k x d, float32 or float64
  void* before = nullptr;            ///< what they were before the last update
  long long* sums = nullptr;         ///< (k, limbs, d)
  long long* weights = nullptr;      ///< k
  long long* counts = nullptr;       ///< k
};

struct PassRanges {
  const PassRange* at = nullptr;  ///< on the device
  int32_t count = 0;
  int64_t max_clusters = 0;          ///< of one range
  int64_t clusters = 0;              ///< the padded columns of all ranges
  bool float64 = false;              ///< the prototypes' type
  PassCounters* counters = nullptr;  ///< of this pass, one per range
  PassControl* control = nullptr;
  uint32_t* numbers = nullptr;  ///< what the kernels of one pass tell each other; its end clears them for the next
  int32_t number_count = 0;
};

}  // namespace manymeans::cuda
