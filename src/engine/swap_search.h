// The swap search of linear models. A trial replaces the least useful prototype of a model by the best of several
// candidates, and lets the model iterate a little. The better model stays. Contract, "Swaps".
#pragma once

#include "backend/upload.h"
#include "core/threads.h"
#include "data/input.h"
#include "engine/member.h"

#include <cstdint>
#include <optional>
#include <span>

namespace manymeans {

/// The data and services that a search uses.
struct SwapContext {
  const Input& input;
  Upload& upload;
  RowQueries& rows;
  ThreadPool& pool;
};

/// The first trial replaces nothing: it brings the initial prototypes somewhere. A single prototype needs no search.
void begin_search(Member& member);

/// Updates of the trial at hand before it is judged.
int64_t updates_of_trial(const SwapState& search);

/// The trial at hand ends with search.inertia: whether it has succeeded, and its prototypes are the best so far.
bool keep_or_reject(Member& member);

/// The search is over, or somebody stops it for this reason: the best prototypes go on, or label the rows once more.
void return_to_best(Member& member, std::optional<StopReason> reason);

/// Begins the next trial of every member: its prototypes are the best with one replaced. All members share readings of
/// the points. If there is nothing to gain, the search is over.
void begin_trials(const SwapContext& context, std::span<Member* const> members);

}  // namespace manymeans
