// Models of a session's memory (device/session_memory.h) as kernels are given them.
#pragma once

#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/device_kernels.h"
#include "core/rounding.h"

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

/// Enqueues what sends the batch's models, each with its columns padded to a multiple of `group`. `here` is pinned.
inline PassRanges send_ranges(const device::PassBatch& batch, const device::SessionMemory& session, int64_t group,
                              PassRange* here, PassRange* there) {
  PassRanges ranges;
  for (size_t i = 0; i < batch.models.size(); ++i) {
    here[i] = range_of(batch.models[i]);
    here[i].first = ranges.clusters;
    ranges.clusters += padded(here[i].k, group);
  }
  copy_to_device(there, here, batch.models.size(), stream_of(session.queue()), "the models");
  ranges.at = there;
  ranges.count = static_cast<int32_t>(batch.models.size());
  ranges.max_clusters = batch.max_clusters;
  ranges.float64 = session.input().points.type == DataType::kFloat64;
  ranges.counters = pointer_to<PassCounters>(batch.counters);
  ranges.control = pointer_to<PassControl>(batch.control);
  return ranges;
}

}  // namespace manymeans::cuda
