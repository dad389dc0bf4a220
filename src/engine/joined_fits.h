// Many small problems in common passes of a device: one run_lloyd() whose members have rows of their own.
#pragma once

#include <manymeans/fit_each.h>

#include "backend/backend.h"
#include "engine/problems.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The problems among `asked` that common passes suit, in groups that are fitted together. There are none if the
/// options require fits of one problem.
std::vector<std::vector<int64_t>> groups_to_join(const Backend& backend, const Problems& problems,
                                                 std::span<const int64_t> asked, const EachOptions& options);

/// Fits the problems of one group. Returns a result for each. Returns none if the models are too large for the backend,
/// if no format is exact for the sums of all rows, or if a problem is wrong. Then each problem must be fitted alone.
/// Throws Error(kInterrupted).
std::vector<FitResult> fit_joined(Backend& backend, const Problems& problems, std::span<const int64_t> group,
                                  const EachOptions& options, const FitHooks& hooks);

}  // namespace manymeans
