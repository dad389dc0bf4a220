#include "init/kmeans_plus_plus.h"

#include "backend/make_seeding.h"
#include "core/random.h"
#include "init/choose_rows.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

// The state of one model while its centres are chosen.
struct Seeds {
  InitModel* model = nullptr;
  int slot = 0;               // of the seeding
  std::vector<int64_t> rows;  // chosen so far
  bool exhausted = false;     // the potential is zero

  // Returns whether centre t is still to be chosen.
  bool wants(int64_t t) const { return !exhausted && model->k > t; }
};

// Candidates a step: 2 + floor(ln k), as in scikit-learn.
int trials_per_step(int64_t k) {
  return 2 + static_cast<int>(std::log(static_cast<double>(k)));
}

void choose_first(const InitContext& context, Seeding& seeding, std::vector<Seeds>& all) {
  std::vector<uint64_t> u;
  for (const Seeds& seeds : all) u.push_back(random_u64(seeds.model->seed, 0, 0, Purpose::kFirstCentre));
  const std::vector<int64_t> rows = rows_by_weight(context.input, u);
  std::vector<Matrix> centres;
  std::vector<SeedCentres> first;
  for (size_t i = 0; i < rows.size(); ++i) {
    all[i].rows.push_back(rows[i]);
    centres.push_back(prototypes_at(context.input, {&rows[i], 1}));
  }
  for (size_t i = 0; i < rows.size(); ++i) first.push_back({all[i].slot, &centres[i]});
  const std::vector<double> largest = seeding.begin(first);
  for (size_t i = 0; i < rows.size(); ++i) seeding.fix_scale(all[i].slot, largest[i]);
}

// The rest of a model whose points all coincide with a centre.
void fill_up(const InitContext& context, Seeds& seeds) {
  InitModel& model = *seeds.model;
  const auto found = static_cast<int64_t>(seeds.rows.size());
  model.warnings.push_back(
      fmt::format("k-means++ for k = {} (seed {}) found only {} distinct points; the other prototypes are random rows",
                  model.k, model.seed, found));
  const std::vector<int64_t> rest = random_rows(context.input, {model.k - found, model.seed, seeds.rows}, context.pool);
  seeds.rows.insert(seeds.rows.end(), rest.begin(), rest.end());
  seeds.exhausted = true;
}

// Returns the draw of the candidates for centre t of one model.
SeedDraw draw_of(const Seeds& seeds, int64_t t) {
  SeedDraw drawn{seeds.slot};
  for (int draw = 0; draw < trials_per_step(seeds.model->k); ++draw) {
    drawn.u.push_back(
        random_u64(seeds.model->seed, static_cast<uint64_t>(t), static_cast<uint32_t>(draw), Purpose::kCandidate));
  }
  return drawn;
}

// Centre t of every model that still needs one.
void choose_next(const InitContext& context, Seeding& seeding, std::vector<Seeds>& all, int64_t t) {
  std::vector<Seeds*> wanting, active;
  std::vector<SeedDraw> draws;
  for (Seeds& seeds : all) {
    if (!seeds.wants(t)) continue;
    wanting.push_back(&seeds);
    draws.push_back(draw_of(seeds, t));
  }
  std::vector<std::vector<int64_t>> drawn = seeding.draw(draws), rows;
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (drawn[i].empty()) {
      fill_up(context, *wanting[i]);
      continue;
    }
    active.push_back(wanting[i]);
    rows.push_back(std::move(drawn[i]));
  }
  if (active.empty()) return;
  std::vector<Matrix> candidates, centres;
  std::vector<SeedTrial> trials;
  std::vector<SeedCentres> added;
  for (const std::vector<int64_t>& of_model : rows) candidates.push_back(prototypes_at(context.input, of_model));
  for (size_t i = 0; i < active.size(); ++i) trials.push_back({active[i]->slot, &candidates[i]});
  const std::vector<int64_t> chosen = seeding.choose(trials);
  for (size_t i = 0; i < active.size(); ++i) {
    const int64_t best = chosen[i];
    active[i]->rows.push_back(rows[i][static_cast<size_t>(best)]);
    centres.push_back(keep_prototypes(candidates[i], {&best, 1}));
  }
  for (size_t i = 0; i < active.size(); ++i) added.push_back({active[i]->slot, &centres[i]});
  seeding.add(added);
}

// The number of steps that a seeding may make alone before a look at signals and limits: a few hundredths of a second.
class StepsPerCall {
 public:
  int64_t steps() const { return steps_; }
  void took(double seconds) {
    constexpr double kSeconds = 0.03;
    const double fitting = static_cast<double>(steps_) * kSeconds / std::max(seconds, 1e-9);
    steps_ = std::max<int64_t>(1, static_cast<int64_t>(std::min(fitting, 8.0 * static_cast<double>(steps_))));
  }

 private:
  int64_t steps_ = 1;
};

// Chooses centres t .. t + steps - 1 of every model that still needs them, if the seeding chooses alone; else false.
bool choose_several(const InitContext& context, Seeding& seeding, std::vector<Seeds>& all, int64_t t, int64_t steps) {
  std::vector<Seeds*> wanting;
  std::vector<SeedRun> runs;
  for (Seeds& seeds : all) {
    if (!seeds.wants(t)) continue;
    wanting.push_back(&seeds);
    runs.push_back({seeds.slot, seeds.model->seed, t, seeds.model->k, trials_per_step(seeds.model->k)});
  }
  if (!seeding.run(runs, steps)) return false;
  for (size_t i = 0; i < runs.size(); ++i) {
    Seeds& seeds = *wanting[i];
    seeds.rows.insert(seeds.rows.end(), runs[i].rows.begin(), runs[i].rows.end());
    if (seeds.wants(static_cast<int64_t>(seeds.rows.size())) && static_cast<int64_t>(runs[i].rows.size()) < steps)
      fill_up(context, seeds);
  }
  return true;
}

// The largest k of the models that still need centre t; 0: none does.
int64_t wanted_until(const std::vector<Seeds>& all, int64_t t) {
  int64_t last = 0;
  for (const Seeds& seeds : all) {
    if (seeds.wants(t)) last = std::max(last, seeds.model->k);
  }
  return last;
}

// All centres but the first; false if it was told to stop.
bool choose_rest(const InitContext& context, Seeding& seeding, std::vector<Seeds>& all, int64_t largest) {
  StepsPerCall steps_per_call;
  int64_t t = 1;
  for (int64_t last = wanted_until(all, t); last > 0; last = wanted_until(all, t)) {
    if (!context.proceed(t, largest)) return false;
    const int64_t steps = std::min(steps_per_call.steps(), last - t);
    const auto begin = std::chrono::steady_clock::now();
    if (choose_several(context, seeding, all, t, steps)) {
      steps_per_call.took(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      t += steps;
    } else {
      choose_next(context, seeding, all, t);
      ++t;
    }
  }
  return true;
}

}  // namespace

bool init_kmeans_plus_plus(const InitContext& context, std::span<InitModel> models) {
  std::vector<Seeds> all;
  std::vector<int64_t> k;
  for (InitModel& model : models) {
    all.push_back({&model, static_cast<int>(k.size()), {}, false});
    k.push_back(model.k);
  }
  const int64_t largest = *std::max_element(k.begin(), k.end());
  if (!context.proceed(0, largest)) return false;
  {
    const SeedingOwner owner = make_seeding(context.upload, context.input, k, context.pool);
    choose_first(context, *owner.seeding, all);
    if (!choose_rest(context, *owner.seeding, all, largest)) return false;
  }
  for (Seeds& seeds : all) {
    seeds.model->prototypes = prototypes_at(context.input, seeds.rows);
    seeds.model->rows = std::move(seeds.rows);
  }
  return true;
}

}  // namespace manymeans
