#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "backend/backend.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "data/unit_rows.h"
#include "engine/prepared_model.h"
#include "engine/tuned.h"
#include "prototype/centroid.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace manymeans {

namespace {

// A backend's session for rows that come once.
struct RowSession {
  std::unique_ptr<Backend> backend;
  Input input;
  std::unique_ptr<Upload> upload;
  std::unique_ptr<Session> session;

  RowSession(const PointsView& points, const Matrix& prototypes, const PredictOptions& options, const Tuning& tuning,
             const Prototype& kind = centroid())
      : backend(make_backend(
            options.backend, points,
            {.threads = options.threads, .algorithm = options.algorithm, .abort = options.abort, .tuning = tuning})) {
    ThreadPool pool(backend->threads(), options.abort);
    input = prepare_input(points, options.weights, pool);
    check_overflow(input, std::max(input.max_magnitude(), largest_magnitude(prototypes)));
    use_prototype(input, kind, pool);
  }

  void begin(int64_t k, int threads) {
    upload = backend->upload(input, {k, k, 1});
    session = upload->session({&k, 1}, threads);
  }
};

// Throws the error by which the check of a fit's points describes what a labeller refuses.
[[noreturn]] void refuse(const PointsView& points) {
  ThreadPool alone(1);
  prepare_input(points, {}, alone);
  check_mapped(points.data);  // it may have been cut off in between
  throw Error(ErrorCode::kInternal, "points", "a labeller refused what a fit would take");
}

void check_columns(const PointsView& points, const PreparedModel& model) {
  if (points.d == model.columns()) return;
  throw Error(ErrorCode::kBadData, "points",
              fmt::format("they have {} columns, the model has {}", points.d, model.columns()));
}

// No type of points is int32. float32 has as many bytes.
void await_labels(const PredictOptions& options, int64_t rows) {
  if (options.room) await_room(options.room, rows, DataType::kFloat32);
}

Prediction predict_by(RowSession& rows, const Matrix& prototypes, const PredictOptions& options) {
  await_labels(options, rows.input.points.n);
  rows.begin(prototypes.rows(), options.threads);
  PassModel pass{0, &prototypes, {}};
  rows.session->advance({&pass, 1}, 1);
  Prediction result;
  if (options.distances) result.distances = rows.session->rows().distances(0, prototypes);
  if (options.inertia) {
    const ModelPrototypes model{0, &prototypes};
    const InertiaSum sum = rows.session->rows().inertias({&model, 1})[0];
    result.inertia = sum.rounded(rows.input.weight_exponent);
  }
  if (options.room) {
    rows.session->store_labels(0, options.room);
  } else {
    result.labels = rows.session->take_labels(0);
  }
  return result;
}

Prediction predict_by_session(const PointsView& points, const Matrix& prototypes, const PredictOptions& options,
                              const Tuning& tuning) {
  RowSession rows(points, prototypes, options, tuning);
  return predict_by(rows, prototypes, options);
}

void check_some(const PointsView& points) {
  if (points.n < 1 || points.d < 1 || points.data == nullptr) refuse(points);
}

Prediction predict_by_labeller(const PointsView& points, const PreparedModel::Ready& ready,
                               const PredictOptions& options) {
  check_some(points);
  await_labels(options, points.n);
  Prediction result;
  const LabelCall call{options.threads, options.abort, options.room};
  if (options.room && !options.distances) {
    const std::optional<bool> stored = ready.labeller->store(points, call);
    if (stored == false) refuse(points);
    if (stored) return result;
  }
  result.labels = Labels(points.n, ready.prototypes->rows());
  if (options.distances) result.distances.resize(static_cast<size_t>(points.n));
  double* d2 = options.distances ? result.distances.data() : nullptr;
  if (!ready.labeller->label(points, call, result.labels, d2)) refuse(points);
  if (options.room) store_labels(options.room, std::exchange(result.labels, {}));
  return result;
}

constexpr const char* kAdvice = "give it fewer rows at a time";

Prediction predict_rows(const PointsView& given, const PreparedModel& model, const PredictOptions& options,
                        const Tuning& tuning) {
  check_columns(given, model);
  const RowCopy measured = measured_rows(given, options.metric, {.threads = options.threads});
  const PointsView& points = measured.view;
  const PreparedModel::Ready ready = model.ready_for(points, options, tuning);
  const bool labels_only = !options.inertia && options.weights.empty();
  const bool alone = labels_only && ready.labeller && ready.labeller->answers(points, Wanted::kLabels);
  Prediction result = alone ? predict_by_labeller(points, ready, options)
                            : predict_by_session(points, *ready.prototypes, options, tuning);
  for (double& distance : result.distances) distance = std::sqrt(distance);
  check_mapped(points.data);
  return result;
}

Prediction predict_rows_by_kind(const Prototype& kind, const PointsView& points, const PointsView& given,
                                const PredictOptions& options) {
  check_some(points);
  const Matrix prototypes = make_prototypes(given, prototype_type(points.type));
  RowSession rows(points, prototypes, options, {}, kind);
  Prediction result = predict_by(rows, prototypes, options);
  for (double& distance : result.distances) distance = std::sqrt(distance);
  check_mapped(points.data);
  return result;
}

Matrix transform_rows(const PointsView& given, const PreparedModel& model, const PredictOptions& options) {
  check_columns(given, model);
  const RowCopy measured = measured_rows(given, options.metric, {.threads = options.threads});
  const PointsView& points = measured.view;
  const PreparedModel::Ready ready = model.ready_for(points, options, {});
  const Matrix& prototypes = *ready.prototypes;
  if (options.room) await_room(options.room, points.n * prototypes.rows(), prototypes.type());
  Matrix distances;
  if (ready.labeller && options.weights.empty() && ready.labeller->answers(points, Wanted::kDistances)) {
    check_some(points);
    distances = Matrix::unwritten(points.n, prototypes.rows(), prototypes.type());
    if (!ready.labeller->transform(points, {options.threads, options.abort}, distances)) refuse(points);
  } else {
    RowSession rows(points, prototypes, options, {});
    rows.begin(1, options.threads);  // no labels are found, so a session of one prototype will do
    if (!options.room || !rows.session->rows().transform_to(prototypes, options.room)) {
      distances = Matrix(points.n, prototypes.rows(), prototypes.type());
      rows.session->rows().transform(prototypes, distances);
    }
  }
  if (options.room && !distances.empty()) {
    const Matrix found = std::exchange(distances, {});
    store_bytes(options.room, 0, found.bytes().size(), found.bytes().data());
  }
  check_mapped(points.data);
  return distances;
}

template <class Work>
auto as_entry_point(Work&& work) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", kAdvice, work);
}

}  // namespace

struct Predictor::Prepared : PreparedModel {
  using PreparedModel::PreparedModel;
};

Predictor::Predictor(const PointsView& prototypes)
    : prepared_(as_entry_point([&] { return std::make_shared<Prepared>(prototypes); })) {}

int64_t Predictor::clusters() const {
  return prepared_->clusters();
}
int64_t Predictor::columns() const {
  return prepared_->columns();
}
bool Predictor::holds(const PointsView& prototypes) const {
  return prepared_->holds(prototypes);
}

Prediction Predictor::predict(const PointsView& points, const PredictOptions& options) const {
  return as_entry_point([&] { return predict_rows(points, *prepared_, options, {}); });
}

Matrix Predictor::transform(const PointsView& points, const PredictOptions& options) const {
  return as_entry_point([&] { return transform_rows(points, *prepared_, options); });
}

Prediction predict(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  return predict_tuned(points, prototypes, options, {});
}

Prediction predict_tuned(const PointsView& points, const PointsView& prototypes, const PredictOptions& options,
                         const Tuning& tuning) {
  return as_entry_point([&] { return predict_rows(points, PreparedModel(prototypes), options, tuning); });
}

Prediction predict_kind(const Prototype& prototype, const PointsView& points, const PointsView& prototypes,
                        const PredictOptions& options) {
  return as_entry_point([&] { return predict_rows_by_kind(prototype, points, prototypes, options); });
}

Matrix transform(const PointsView& points, const PointsView& prototypes, const PredictOptions& options) {
  return as_entry_point([&] { return transform_rows(points, PreparedModel(prototypes), options); });
}

}  // namespace manymeans
