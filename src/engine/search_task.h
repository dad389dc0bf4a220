// The search for the best model, before its fit: contract, "Search".
#pragma once

#include <manymeans/search.h>

#include "core/threads.h"
#include "engine/lloyd.h"

#include <span>
#include <vector>

namespace manymeans {

/// What a fit is told of the searches before it.
struct SearchTask {
  const SearchOptions& options;
  std::vector<SearchSummary>& summaries;  ///< out: one a member
};

/// Gives each of these members, which have begun nothing, the best prototypes that its search finds; none to those that
/// are stopped before they have any.
void search_prototypes(const SearchTask& task, const FitContext& fit, std::span<Member> members, ThreadPool& pool);

}  // namespace manymeans
