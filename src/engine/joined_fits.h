// Many small problems in common passes of a device: one run_lloyd() whose members have rows of their own.
#pragma once

#include <manymeans/fit_each.h>

#include "backend/backend.h"
#include "engine/problems.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// The problems among `asked` that common passes suit, in groups of neighbours that are fitted together. None where the
/// options ask for what only a fit of one problem does.
std::vector<std::vector<int64_t>> groups_to_join(const Backend& backend, const Problems& problems,
                                                 std::span<const int64_t> asked, const EachOptions& options);

/// Fits the problems of one group. Returns a result for each, or none: the backend makes no common passes, sums of all
/// rows would not be exact in one format, or a problem is wrong. Each has to be fitted alone then. Throws
/// Error(kInterrupted).
std::vector<FitResult> fit_joined(Backend& backend, const Problems& problems, std::span<const int64_t> group,
                                  const EachOptions& options, const FitHooks& hooks);

}  // namespace manymeans
