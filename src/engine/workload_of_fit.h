// What a fit tells its backend of the work to come.
#pragma once

#include <manymeans/options.h>
#include <manymeans/result.h>

#include "backend/backend.h"
#include "engine/lloyd.h"
#include "engine/member.h"
#include "engine/search_task.h"

#include <span>

namespace manymeans {

/// Of these models, whose threads are the backend's.
Workload workload_of(const FitOptions& options, std::span<const Member> members, int threads);

/// Adds that of the search before them, which has sessions of many models and makes more passes than any fit.
void add_trials(const SearchTask& search, Workload& workload);

/// The models and their clusters, of what these options ask for, and of a search's trials where there is one.
Workload workload_before_models(const FitOptions& options, const SearchTask* search);

/// Puts what the work did cost where users read it.
void tell_cost(const Cost& cost, Provenance& provenance);
/// Adds a phase: the rest of `whole` seconds, of which the others took their part.
void add_rest(const char* phase, double whole, Provenance& provenance);

}  // namespace manymeans
