// The search for the best model, before its fit: contract, "Search".
#pragma once

#include <manymeans/search.h>

#include "core/threads.h"
#include "engine/lloyd.h"

#include <span>
#include <vector>

namespace manymeans {

/// The searches before a fit of these points.
struct SearchTask {
  const PointsView& points;
  std::span<const double> weights;  ///< as they were given
  const SearchOptions& options;
  std::vector<SearchSummary>& summaries;  ///< out: one a member
};

/// Gives each member the best prototypes that its search finds. The members have begun nothing. A member that is
/// stopped before it has any gets none.
void search_prototypes(const SearchTask& task, const FitContext& fit, std::span<Member> members, ThreadPool& pool);

}  // namespace manymeans
