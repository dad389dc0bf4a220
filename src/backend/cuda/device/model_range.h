// A model of a session's memory (device/session_memory.h) as kernels are given it.
#pragma once

#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/session_memory.h"

namespace manymeans::cuda {

/// But for its place among the columns of all models.
inline PassRange range_of(const device::ModelMemory& model) {
  PassRange range;
  range.slot = model.slot;
  range.first_pass = model.labelled ? 0 : 1;
  range.k = model.k;
  range.prototypes = pointer_to(model.prototypes);
  range.before = pointer_to(model.before);
  range.sums = pointer_to<long long>(model.sums);
  range.weights = pointer_to<long long>(model.weights);
  range.counts = pointer_to<long long>(model.counts);
  return range;
}

}  // namespace manymeans::cuda
