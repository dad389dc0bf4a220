// The part of a split that a tree keeps.
#pragma once

#include <manymeans/result.h>

#include "engine/checkpoint.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// A split without its labels.
struct Split {
  Matrix prototypes;
  std::vector<int64_t> counts;   // rows of all ranks
  std::array<int64_t, 2> end{};  // iterations, and why they ended
  double inertia = 0;
  std::string digest = std::string(32, '0');

  Split() = default;
  Split(int64_t k, int64_t d, DataType type) : prototypes(k, d, type), counts(static_cast<size_t>(k)) {}
  explicit Split(const ModelResult& model)
      : prototypes(model.prototypes),
        counts(model.counts),
        end{model.iterations, static_cast<int64_t>(model.stop_reason)},
        inertia(model.inertia),
        digest(model.digest()) {}

  /// Ranks send these to each other.
  std::array<std::span<std::byte>, 5> parts() {
    return {prototypes.values<std::byte>(), std::as_writable_bytes(std::span(counts)),
            std::as_writable_bytes(std::span(end)), std::as_writable_bytes(std::span(&inertia, 1)),
            std::as_writable_bytes(std::span(digest))};
  }

  /// The last pass of the fit, before it was judged.
  ModelState state() const {
    ModelState state;
    state.stage = ModelStage::kLabelled;
    state.prototypes = prototypes;
    state.iterations = end[0];
    state.stop_reason = static_cast<StopReason>(end[1]);
    state.stopping = state.stop_reason != StopReason::kStrict;
    return state;
  }
};

}  // namespace manymeans
