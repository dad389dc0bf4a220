// k-means|| (Bahmani et al. 2012): a few rounds of oversampling, then greedy k-means++ on the candidates,
// weighted by the points they attract. Exact: docs/developer/contract.md, "Random".
#include "backend/make_seeding.h"
#include "core/random.h"
#include "data/gather.h"
#include "init/choose_rows.h"
#include "init/init.h"
#include "init/kmeans_plus_plus.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

constexpr uint32_t kRounds = 5;  // with k expected candidates each; section 5 of the paper uses 5

struct Candidates {
  std::vector<int64_t> rows;     // in order of (round, row)
  std::vector<int64_t> weights;  // of the points nearest to each; none where that is not known, or not needed
};

// Rounds of oversampling for one model; no rows if `proceed` says stop.
Candidates oversample(const InitContext& context, const InitModel& model, int64_t first,
                      const std::function<bool()>& proceed) {
  std::vector<int64_t> candidates = {first};
  const SeedingOwner seeding = make_seeding(context.upload, context.input, {&model.k, 1}, context.pool);
  const Matrix first_centre = prototypes_at(context.input, candidates);
  const SeedCentres begun{0, &first_centre};
  seeding->fix_scale(0, seeding->begin({&begun, 1})[0]);
  for (uint32_t round = 0; round < kRounds; ++round) {
    if (!proceed()) return {};
    const std::vector<int64_t> rows = seeding->sample(0, {model.seed, round, model.k, seeding->total(0)});
    if (rows.empty()) continue;
    candidates.insert(candidates.end(), rows.begin(), rows.end());
    const Matrix centres = prototypes_at(context.input, rows);
    const SeedCentres added{0, &centres};
    seeding->add({&added, 1});
  }
  std::vector<int64_t> weights;
  if (static_cast<int64_t>(candidates.size()) > model.k) weights = seeding->cluster_weights(0);
  return {std::move(candidates), std::move(weights)};
}

// Weight of the points nearest to each candidate.
std::vector<int64_t> attracted_weights(const InitContext& context, const Candidates& found) {
  if (!found.weights.empty()) return found.weights;
  return cluster_weights_by_pass(context.upload, prototypes_at(context.input, found.rows), context.pool.size());
}

// Returns the weights in units of the largest: 0, or at least 2^-40 where that counts.
std::vector<double> relative_weights(std::span<const int64_t> sums) {
  const auto count = static_cast<int64_t>(sums.size());
  std::vector<double> weights(sums.begin(), sums.end());
  const double largest = *std::max_element(weights.begin(), weights.end());
  // The minimum weight that still counts compared with the largest (contract, "Weights").
  const double least = std::ldexp(1.0, -std::min(40, limb_bits(count) - 1));
  for (double& w : weights) w = w > 0 ? std::max(w / largest, least) : 0;
  return weights;
}

// k of the candidates by weighted k-means++; false if it was told to stop. With k in the thousands this takes as long
// as the rounds, so it reports progress itself.
bool reduce(const InitContext& context, InitModel& model, const Candidates& found) {
  const std::vector<int64_t>& rows = found.rows;
  const Matrix candidates = gather_from_all(context.input, rows);
  const std::vector<double> weights = relative_weights(attracted_weights(context, found));
  Input input = prepare_input(candidates.view(), weights, context.pool);
  use_prototype(input, prototype_of(context.input), context.pool);
  const auto upload = context.backend.upload(input);
  InitModel reduced{model.k, member_seed(model.seed, candidates.rows(), 0), {}, {}};
  const InitContext inner{input, context.backend, *upload, context.pool, context.proceed};
  if (!init_kmeans_plus_plus(inner, {&reduced, 1})) return false;
  model.prototypes = std::move(reduced.prototypes);
  for (const int64_t candidate : reduced.rows) model.rows.push_back(rows[static_cast<size_t>(candidate)]);
  for (std::string& warning : reduced.warnings) model.warnings.push_back(std::move(warning));
  return true;
}

}  // namespace

bool init_kmeans_parallel(const InitContext& context, std::span<InitModel> models) {
  int64_t round = 0;
  const auto proceed = [&] { return context.proceed(round++, static_cast<int64_t>(kRounds * models.size())); };
  for (InitModel& model : models) {
    const uint64_t u = random_u64(model.seed, 0, 0, Purpose::kFirstCentre);
    Candidates candidates = oversample(context, model, rows_by_weight(context.input, {&u, 1})[0], proceed);
    std::vector<int64_t>& rows = candidates.rows;
    if (rows.empty()) return false;
    const auto found = static_cast<int64_t>(rows.size());
    if (found > model.k) {
      if (!reduce(context, model, candidates)) return false;
      continue;
    }
    if (found < model.k) {
      model.warnings.push_back(
          fmt::format("k-means|| for k = {} (seed {}) found only {} candidates; the other prototypes are random rows",
                      model.k, model.seed, found));
      const std::vector<int64_t> rest = random_rows(context.input, {model.k - found, model.seed, rows}, context.pool);
      rows.insert(rows.end(), rest.begin(), rest.end());
    }
    model.prototypes = prototypes_at(context.input, rows);
    model.rows = std::move(rows);
  }
  return true;
}

}  // namespace manymeans
