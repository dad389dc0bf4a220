// Initial prototypes without a fit.
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "data/unit_rows.h"
#include "data/weight_range.h"
#include "engine/check_clusters.h"
#include "engine/control.h"
#include "engine/fit_shard.h"
#include "init/init.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace manymeans {

namespace {

Initialisation initialise_checked(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                                  const FitHooks& hooks) {
  const int64_t k = options.k[0];
  if (points.n > 0) check_clusters(k, points.n);  // prepare_input() refuses n < 1
  Control control(hooks, options.time_limit);
  const auto backend =
      make_backend(options.backend, points, {.threads = options.threads, .abort = hooks.abort, .cancel = hooks.cancel});
  ThreadPool pool(backend->threads(), hooks.abort);
  const RowCopy measured = measured_rows(points, options.metric, {pool.size()});
  const Input input = prepare_input(measured.view, weights, pool);
  const auto upload = backend->upload(input, {.max_clusters = k, .all_clusters = k, .passes = 2 + k, .apart = true});
  const auto proceed = [&](int64_t step, int64_t steps) {
    Progress progress;
    progress.phase = "initialise";
    progress.iteration = step;
    progress.max_iteration = steps;
    progress.active_models = progress.models = 1;
    progress.inertia_estimate = std::numeric_limits<double>::quiet_NaN();
    return !control.report(progress);
  };
  const InitContext context{input, *backend, *upload, pool, proceed};
  InitModel model{k, options.model_seed.value_or(member_seed(options.seed, k, 0)), {}, {}};
  if (!find_init(options.init, points.n, k, points.d).run(context, {&model, 1})) {
    throw Error(ErrorCode::kInterrupted, "initialise", "it was stopped before there were prototypes");
  }
  check_mapped(points.data);
  const auto warning = input.weighted ? weight_warning(input, smallest_weight(weights)) : std::nullopt;
  if (warning) model.warnings.insert(model.warnings.begin(), *warning);
  return {std::move(model.prototypes), std::move(model.rows), std::move(model.warnings)};
}

}  // namespace

Initialisation initialise(const PointsView& points, std::span<const double> weights, const FitOptions& options,
                          const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", "give it fewer rows", [&] {
    check(options);
    refuse_ranks(hooks, "initialise");
    return initialise_checked(points, weights, options, hooks);
  });
}

}  // namespace manymeans
