#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "engine/tuned.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace manymeans {

namespace {

// What predict and transform begin with.
struct Prepared {
  std::unique_ptr<Backend> backend;
  Input input;
  Matrix prototypes;
};

Prepared prepare(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                 const Tuning& tuning) {
  if (prototypes.n < 1) throw Error(ErrorCode::kUsage, "prototypes", "there are none; at least one is needed");
  if (prototypes.n > kMostClusters) {
    throw Error(ErrorCode::kUsage, "prototypes",
                fmt::format("{} are too many; at most {}", prototypes.n, kMostClusters));
  }
  if (points.d != prototypes.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} columns, the model has {}", points.d, prototypes.d));
  }
  Prepared result;
  const BackendOptions backend{
      .threads = options.threads, .algorithm = options.algorithm, .abort = options.abort, .tuning = tuning};
  result.backend = make_backend(options.backend, points, backend);
  ThreadPool pool(result.backend->threads(), options.abort);
  result.input = prepare_input(points, options.weights, pool);
  result.prototypes = make_prototypes(prototypes, prototype_type(points.type));
  check_overflow(result.input, std::max(result.input.max_magnitude(), largest_magnitude(result.prototypes)));
  return result;
}

constexpr const char* kAdvice = "give it fewer rows at a time";

Prediction predict_rows(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                        const Tuning& tuning) {
  const Prepared prepared = prepare(points, prototypes, options, tuning);
  const auto upload = prepared.backend->upload(prepared.input, {prototypes.n, prototypes.n, 1});
  const auto session = upload->session({&prototypes.n, 1}, options.threads);
  PassModel pass{0, &prepared.prototypes, {}};
  session->advance({&pass, 1}, 1);
  Prediction result;
  if (options.distances) {
    result.distances = session->rows().distances(0, prepared.prototypes);
    for (double& distance : result.distances) distance = std::sqrt(distance);
  }
  if (options.inertia) {
    const ModelPrototypes model{0, &prepared.prototypes};
    const InertiaSum sum = session->rows().inertias({&model, 1})[0];
    result.inertia =
        std::ldexp(rounded_sum(sum.limbs.data(), sum.format), prepared.input.weight_exponent - sum.format.shift);
  }
  result.labels = session->take_labels(0);
  check_mapped(points.data);
  return result;
}

// No labels are found, so a session of one prototype will do.
Matrix transform_rows(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  const Prepared prepared = prepare(points, prototypes, options, {});
  const int64_t one = 1;
  const auto upload = prepared.backend->upload(prepared.input, {one, one, 1});
  const auto session = upload->session({&one, 1}, options.threads);
  Matrix distances(points.n, prototypes.n, prepared.prototypes.type());
  session->rows().transform(prepared.prototypes, distances);
  check_mapped(points.data);
  return distances;
}

}  // namespace

Prediction predict(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  return predict_tuned(points, prototypes, options, {});
}

Prediction predict_tuned(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                         const Tuning& tuning) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", kAdvice, [&] { return predict_rows(points, prototypes, options, tuning); });
}

Matrix transform(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", kAdvice, [&] { return transform_rows(points, prototypes, options); });
}

}  // namespace manymeans
