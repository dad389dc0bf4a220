#include "init/kmeans_plus_plus.h"

#include "core/random.h"
#include "data/gather.h"
#include "init/choose_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

struct Seeding {
  InitModel* model = nullptr;
  std::vector<int64_t> rows;  // chosen so far
  bool exhausted = false;     // the potential is zero
};

// Candidates a step: 2 + floor(ln k), as in scikit-learn.
int trials_per_step(int64_t k) {
  return 2 + static_cast<int>(std::log(static_cast<double>(k)));
}

// Adds the newest centre of every given model to the session's seeding.
void add_centres(const InitContext& context, std::span<Seeding* const> seedings, bool first) {
  std::vector<Matrix> centres;
  std::vector<Session::SeedCentres> added;
  for (const Seeding* seeding : seedings) {
    centres.push_back(gather_rows(context.input, std::span(seeding->rows).last(1)));
  }
  for (size_t i = 0; i < seedings.size(); ++i) added.push_back({seedings[i]->model->slot, &centres[i], first});
  context.session.seed_add(added);
}

void choose_first(const InitContext& context, std::vector<Seeding>& seedings) {
  std::vector<uint64_t> u;
  for (const Seeding& s : seedings) u.push_back(random_u64(s.model->seed, 0, 0, Purpose::kFirstCentre));
  const std::vector<int64_t> rows = rows_by_weight(context.input, u);
  std::vector<Seeding*> all;
  for (size_t i = 0; i < rows.size(); ++i) {
    seedings[i].rows.push_back(rows[i]);
    all.push_back(&seedings[i]);
  }
  add_centres(context, all, true);
}

// The rest of a model whose points all coincide with a centre.
void fill_up(const InitContext& context, Seeding& seeding) {
  InitModel& model = *seeding.model;
  const auto found = static_cast<int64_t>(seeding.rows.size());
  model.warnings.push_back(
      fmt::format("k-means++ for k = {} (seed {}) found only {} distinct points; the other prototypes are random rows",
                  model.k, model.seed, found));
  const std::vector<int64_t> rest =
      random_rows(context.input, {model.k - found, model.seed, seeding.rows}, context.pool);
  seeding.rows.insert(seeding.rows.end(), rest.begin(), rest.end());
  seeding.exhausted = true;
}

// Step t: draws candidates for every model that still needs centres.
std::vector<SeedTrial> draw_candidates(const InitContext& context, std::span<Seeding* const> seedings, int64_t t) {
  std::vector<SeedTrial> trials;
  for (Seeding* seeding : seedings) {
    const InitModel& model = *seeding->model;
    std::vector<uint64_t> u;
    for (int draw = 0; draw < trials_per_step(model.k); ++draw) {
      u.push_back(random_u64(model.seed, static_cast<uint64_t>(t), static_cast<uint32_t>(draw), Purpose::kCandidate));
    }
    trials.push_back({model.slot, context.session.seed_pick(model.slot, u), {}});
  }
  return trials;
}

}  // namespace

bool init_kmeans_plus_plus(const InitContext& context, std::span<InitModel> models) {
  std::vector<Seeding> seedings;
  int64_t largest = 0;
  for (InitModel& model : models) {
    seedings.push_back({&model, {}, false});
    largest = std::max(largest, model.k);
  }
  if (!context.proceed(0, largest)) return false;
  choose_first(context, seedings);
  for (int64_t t = 1; t < largest; ++t) {
    if (!context.proceed(t, largest)) return false;
    std::vector<Seeding*> active;
    for (Seeding& seeding : seedings) {
      if (seeding.exhausted || seeding.model->k <= t) continue;
      if (context.session.seed_total(seeding.model->slot).is_zero()) {
        fill_up(context, seeding);
      } else {
        active.push_back(&seeding);
      }
    }
    if (active.empty()) break;
    std::vector<SeedTrial> trials = draw_candidates(context, active, t);
    context.session.seed_try(trials);
    for (size_t i = 0; i < active.size(); ++i) {
      const auto& p = trials[i].potentials;
      active[i]->rows.push_back(trials[i].rows[static_cast<size_t>(std::min_element(p.begin(), p.end()) - p.begin())]);
    }
    add_centres(context, active, false);
  }
  context.session.seed_end();
  for (Seeding& seeding : seedings) {
    seeding.model->prototypes = gather_rows(context.input, seeding.rows);
    seeding.model->rows = std::move(seeding.rows);
  }
  return true;
}

}  // namespace manymeans
