#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "core/fp_environment.h"
#include "prototype/centroid.h"

#include <fmt/format.h>

#include <cmath>

namespace manymeans {

Prediction predict(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  const FpEnvironmentGuard guard;
  if (prototypes.n < 1) throw Error(ErrorCode::kUsage, "prototypes", "there are none; at least one is needed");
  if (prototypes.n > kMostClusters) {
    throw Error(ErrorCode::kUsage, "prototypes",
                fmt::format("{} are too many; at most {}", prototypes.n, kMostClusters));
  }
  if (points.d != prototypes.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} columns, the model has {}", points.d, prototypes.d));
  }
  const auto backend = make_backend(options.backend, {.threads = options.threads, .algorithm = options.algorithm});
  ThreadPool pool(backend->threads());
  const Input input = prepare_input(points, {}, pool);
  const Matrix matrix = make_prototypes(prototypes, prototype_type(points.type));
  const auto upload = backend->upload(input, {prototypes.n, prototypes.n, 1});
  const auto session = upload->session({&prototypes.n, 1}, options.threads);
  PassModel pass{0, &matrix, {}};
  session->advance({&pass, 1}, 1);
  Prediction result;
  if (options.distances) {
    result.distances = session->distances(0, matrix);
    for (double& distance : result.distances) distance = std::sqrt(distance);
  }
  result.labels = session->take_labels(0);
  return result;
}

}  // namespace manymeans
