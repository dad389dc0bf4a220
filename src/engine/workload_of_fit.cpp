#include "engine/workload_of_fit.h"

#include <algorithm>
#include <cstdint>

namespace manymeans {

Workload workload_of(const FitOptions& options, std::span<const Member> members, int threads) {
  const auto models = static_cast<int64_t>(members.size());
  Workload workload{1, 0, (std::min<int64_t>(options.max_iter, 1000) + 1) * models};
  if (options.strategy == Strategy::kConcatenated) workload.models = models;
  if (options.strategy == Strategy::kTask) workload.sessions = std::min<int64_t>(threads, models);
  int64_t apart = 0;
  for (const Member& member : members) {
    workload.max_clusters = std::max(workload.max_clusters, member.result.k);
    workload.all_clusters += member.result.k;
    workload.clusters.push_back(member.result.k);
    apart += member.result.init.starts_with("k-means");
  }
  workload.apart = 2 * apart > models;
  return workload;
}

Workload workload_before_models(const FitOptions& options, const SearchTask* search) {
  Workload workload{1, 0};
  const auto models = options.models * static_cast<int64_t>(options.k.size());
  if (options.strategy == Strategy::kConcatenated) workload.models = models;
  for (const int64_t k : options.k) {
    workload.max_clusters = std::max(workload.max_clusters, k);
    workload.all_clusters += k * options.models;
  }
  if (search != nullptr) add_trials(*search, workload);
  return workload;
}

void add_trials(const SearchTask& search, Workload& workload) {
  constexpr int64_t kMany = 1000;
  workload.models = search.options.trials;
  workload.all_clusters = search.options.trials * workload.max_clusters;
  workload.passes = std::max(workload.passes, kMany * search.options.trials);
  workload.clusters.assign(static_cast<size_t>(search.options.trials), workload.max_clusters);
}

Provenance provenance_of(const Backend& backend, const Upload& upload, const FitOptions& options) {
  Provenance provenance;
  provenance.version = MANYMEANS_VERSION;
  provenance.backend = backend.name();
  provenance.instruction_set = backend.instruction_set();
  provenance.plan = upload.plan();
  provenance.options = options;
  return provenance;
}

void add_phases(const Cost& cost, std::vector<std::pair<std::string, double>>& seconds) {
  // Under the strategy task they are summed over the threads.
  seconds.emplace_back("fit: initialise", cost.initialise);
  seconds.emplace_back("fit: passes", cost.iterate);
  seconds.emplace_back("fit: update", cost.update);
  seconds.emplace_back("fit: finish", cost.finish);
}

void tell_cost(const Cost& cost, Provenance& provenance) {
  add_phases(cost, provenance.seconds);
  provenance.passes = cost.passes;
  provenance.total = cost.sum;
  provenance.pass_log = cost.log;
}

void add_rest(const char* phase, double whole, Provenance& provenance) {
  for (const auto& [name, seconds] : provenance.seconds) {
    if (name.find(':') == std::string::npos) whole -= seconds;  // the others are parts of a phase
  }
  provenance.seconds.emplace_back(phase, whole);
}

}  // namespace manymeans
