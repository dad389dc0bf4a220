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
#include <cstring>
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
                 BackendOptions tuning) {
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
  tuning.threads = options.threads;
  tuning.algorithm = options.algorithm;
  tuning.abort = options.abort;
  result.backend = make_backend(options.backend, points, tuning);
  ThreadPool pool(result.backend->threads(), options.abort);
  result.input = prepare_input(points, options.weights, pool);
  result.prototypes = make_prototypes(prototypes, prototype_type(points.type));
  check_overflow(result.input, std::max(result.input.max_magnitude(), largest_magnitude(result.prototypes)));
  return result;
}

// Column `k` of `out` = the roots of `squares`.
template <class T>
void store_column(std::span<const double> squares, int64_t k, Matrix& out, ThreadPool& pool) {
  T* const to = out.values<T>().data() + k;
  pool.for_each_range(out.rows(), 1 << 14, [&](int, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      to[i * out.columns()] = static_cast<T>(std::sqrt(squares[static_cast<size_t>(i)]));
    }
  });
}

constexpr const char* kAdvice = "give it fewer rows at a time";

Prediction predict_rows(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                        const BackendOptions& tuning) {
  const Prepared prepared = prepare(points, prototypes, options, tuning);
  const auto upload = prepared.backend->upload(prepared.input, {prototypes.n, prototypes.n, 1});
  const auto session = upload->session({&prototypes.n, 1}, options.threads);
  PassModel pass{0, &prepared.prototypes, {}};
  session->advance({&pass, 1}, 1);
  Prediction result;
  if (options.distances) {
    result.distances = session->distances(0, prepared.prototypes);
    for (double& distance : result.distances) distance = std::sqrt(distance);
  }
  if (options.inertia) {
    const InertiaSum sum = session->inertia(0, prepared.prototypes);
    result.inertia =
        std::ldexp(rounded_sum(sum.limbs.data(), sum.format), prepared.input.weight_exponent - sum.format.shift);
  }
  result.labels = session->take_labels(0);
  check_mapped(points.data);
  return result;
}

// One model of one prototype after the other: every backend has distances to the prototype of a label.
Matrix transform_rows(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  const Prepared prepared = prepare(points, prototypes, options, {});
  const int64_t one = 1;
  const auto upload = prepared.backend->upload(prepared.input, {1, 1, 1});
  const auto session = upload->session({&one, 1}, options.threads);
  Matrix result(points.n, prototypes.n, prepared.prototypes.type());
  Matrix single(1, points.d, prepared.prototypes.type());
  const size_t bytes = single.bytes().size();
  ThreadPool pool(prepared.backend->threads(), options.abort);
  for (int64_t k = 0; k < prototypes.n; ++k) {
    const std::byte* row = prepared.prototypes.bytes().data() + static_cast<size_t>(k) * bytes;
    std::memcpy(single.values<std::byte>().data(), row, bytes);
    if (k == 0) {
      PassModel pass{0, &single, {}};
      session->advance({&pass, 1}, 1);
    }
    const std::vector<double> squares = session->distances(0, single);
    if (result.type() == DataType::kFloat64) {
      store_column<double>(squares, k, result, pool);
    } else {
      store_column<float>(squares, k, result, pool);
    }
  }
  check_mapped(points.data);
  return result;
}

}  // namespace

Prediction predict(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  return predict_tuned(points, prototypes, options, {});
}

Prediction predict_tuned(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                         const BackendOptions& tuning) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", kAdvice, [&] { return predict_rows(points, prototypes, options, tuning); });
}

Matrix transform(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", kAdvice, [&] { return transform_rows(points, prototypes, options); });
}

}  // namespace manymeans
