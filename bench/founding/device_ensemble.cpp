#include "founding/device_ensemble.h"

#include <fmt/format.h>

#include <cmath>

namespace manymeans::founding {

std::string EnsembleOptions::defines() const {
  return fmt::format("-DK={} -DD={} -DM={} -DGROUP={}{}", shape.clusters, shape.columns, shape.models, group,
                     whole() ? " -DWHOLE" : "");
}

void EnsembleOptions::add_to(ResultLine& line) const {
  line.add("type", type);
  line.add("group", group);
  line.add("per_item", per_item);
}

EnsembleOptions read_ensemble_options(Arguments& arguments) {
  EnsembleOptions options{read_shape(arguments)};
  options.shape.points = arguments.word("points", kPointKinds);
  options.type = arguments.word("type", {"float32", "int32"});
  options.device = static_cast<int>(arguments.whole("device", 0, 0));
  options.group = arguments.whole("group", 256);
  options.per_item = arguments.whole("per-item", 16);
  return options;
}

std::vector<float> make_ensemble_points(const EnsembleOptions& options) {
  std::vector<float> points = make_points<float>(options.shape);
  if (!options.whole()) return points;
  constexpr float kCells = 1024;
  constexpr int64_t kMaxRows = (int64_t{1} << 31) / 1300;  // a cluster's sum has to fit into 32 bits
  if (options.shape.rows > kMaxRows) {
    throw Error(ErrorCode::kUsage, "arguments", fmt::format("--type int32 allows at most {} --rows", kMaxRows));
  }
  for (float& value : points) value = std::floor(value * kCells);
  return points;
}

DeviceEnsemble::DeviceEnsemble(OpenClSession& session, const EnsembleOptions& options, const std::vector<float>& points)
    : session_(session), options_(options) {
  arrays_.points = options.whole() ? session.make_buffer_of(std::vector<int32_t>(points.begin(), points.end()))
                                   : session.make_buffer_of(points);
  arrays_.models = session.make_buffer(options.values() * sizeof(float));
  arrays_.sums = session.make_buffer(options.values() * sizeof(float));  // int has four bytes, too
  arrays_.counts = session.make_buffer(options.centroids() * sizeof(int32_t));
}

EnsembleRun DeviceEnsemble::fit(const std::vector<float>& first) {
  EnsembleRun run{first};
  begin(first);
  iterate(nullptr);  // some drivers compile kernels when they first run
  begin(first);
  session_.finish();
  const ElapsedTime watch;
  for (int64_t i = 0; i < options_.shape.iterations; ++i) iterate(nullptr);
  session_.finish();
  run.seconds = watch.seconds();
  run.before = models();
  run.labels.resize(static_cast<size_t>(options_.shape.models * options_.shape.rows), -1);
  const cl_mem labels = session_.make_buffer_of(run.labels);
  iterate(labels);
  session_.read(run.labels, labels);
  run.after = models();
  return run;
}

std::vector<float> DeviceEnsemble::models() const {
  std::vector<float> models(options_.values());
  session_.read(models, arrays_.models);
  return models;
}

void DeviceEnsemble::begin(const std::vector<float>& models) {
  session_.write(arrays_.models, models);
  session_.write(arrays_.sums, std::vector<int32_t>(options_.values(), 0));  // 0 has the same bits in both types
  session_.write(arrays_.counts, std::vector<int32_t>(options_.centroids(), 0));
}

void DeviceEnsemble::iterate(cl_mem labels) {
  compute_statistics(labels);
  session_.launch("compute_new_models", options_.groups_for(static_cast<int64_t>(options_.centroids())),
                  static_cast<size_t>(options_.group), arrays_.models, arrays_.sums, arrays_.counts);
}

std::vector<float> first_models(const EnsembleOptions& options, const std::vector<float>& points) {
  std::vector<float> models;
  for (int64_t m = 0; m < options.shape.models; ++m) {
    const std::vector<float> model = first_centroids(options.shape, points, m);
    models.insert(models.end(), model.begin(), model.end());
  }
  return models;
}

RunVerdict check_ensemble(const EnsembleOptions& options, const std::vector<float>& points, const EnsembleRun& run) {
  const ExperimentShape& shape = options.shape;
  const auto rows = static_cast<size_t>(shape.rows);
  RunVerdict verdict;
  for (int64_t m = 0; m < shape.models; ++m) {
    const auto view = [&](const std::vector<float>& models) {
      return PointsView(models.data() + m * shape.clusters * shape.columns, shape.clusters, shape.columns);
    };
    const std::span<const int32_t> labels = run.labels;
    verdict += check_kmeans({.points = {points.data(), shape.rows, shape.columns},
                             .first = view(run.first),
                             .before = view(run.before),
                             .after = view(run.after),
                             .iterations = shape.iterations + 1,
                             .labels = labels.subspan(static_cast<size_t>(m) * rows, rows)},
                            shape.judge);
  }
  return verdict;
}

}  // namespace manymeans::founding
