// The swap search of linear models: a trial replaces the least useful prototype of a converged model by the best of
// several candidates, and lets the model iterate a little. What is better stays. Contract, "Swaps".
#pragma once

#include "backend/backend.h"
#include "core/threads.h"
#include "engine/member.h"

#include <cstdint>
#include <span>

namespace manymeans {

/// Updates of a trial before it is judged.
constexpr int64_t kTrialUpdates = 5;

/// What a search asks.
struct SwapContext {
  const Input& input;
  Upload& upload;
  ThreadPool& pool;
};

/// Whether a trial that ended has succeeded.
bool succeeds(const SwapState& search);

/// Begins the next trial of every one of these members: their prototypes are those of `search.best` with one replaced.
/// All of them share readings of the points. A member for which there is nothing to gain has its search over.
void begin_trials(const SwapContext& context, std::span<Member* const> members);

}  // namespace manymeans
