// The work to come, as a fit tells its backend, and the work that was done, as it tells its caller.
#pragma once

#include <manymeans/options.h>
#include <manymeans/result.h>

#include "backend/upload.h"
#include "engine/lloyd.h"
#include "engine/member.h"
#include "engine/search_task.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

/// Returns the workload of the models; `threads` are the backend's.
Workload workload_of(const FitOptions& options, std::span<const Member> members, int threads);

/// Adds the search before the fit. Its sessions have many models, and it makes more passes than any fit.
void add_trials(const SearchTask& search, Workload& workload);

/// The models and their clusters that these options ask for, and the trials of a search, if any.
Workload workload_before_models(const FitOptions& options, const SearchTask* search);

/// What a result says of the backend, the upload that labelled the rows, and the options.
Provenance provenance_of(const Backend& backend, const Upload& upload, const FitOptions& options);
/// Adds the parts of the phase "fit".
void add_phases(const Cost& cost, std::vector<std::pair<std::string, double>>& seconds);
/// Puts what the work did cost where users read it.
void tell_cost(const Cost& cost, Provenance& provenance);
/// Adds a phase: `whole` seconds minus the phases before.
void add_rest(const char* phase, double whole, Provenance& provenance);

}  // namespace manymeans
