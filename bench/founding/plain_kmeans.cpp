// K-means in sequential C++ (program plain_kmeans), and with OpenMP (program openmp_kmeans).
//
//   plain_kmeans --rows N --columns D --clusters K --models M --iterations I --type float64|float32
//                --strategy two-loops|one-loop --threshold 0 --seed 1 --points uniform|mixture --judge reference
//
//   openmp_kmeans takes the same options and --threads T.
//
// The strategy two-loops is study 5, listings 1 to 3. One-loop is NU-MineBench, the peer of study 4 (table 5.1).
//
// --threshold 1e-6 is study 5's rule. A centroid that moved less is not updated, and the fit ends when none moved.
// The default 0 ends it when no centroid moves at all. The models of an ensemble are fitted one after the other.
#include "founding/plain_kmeans.h"

#include "founding/founding.h"
#include "founding/founding_check.h"
#include "founding/plain_threads.h"

namespace manymeans::founding {
namespace {

struct PlainOptions {
  ExperimentShape shape;
  int threads = 1;
  bool one_loop = false;
  double threshold = 0;
};

// Sums over all models.
struct EnsembleTotals {
  double seconds = 0;
  int64_t iterations = 0;
  RunVerdict verdict;
};

template <class T>
void fit_model(const PlainOptions& options, const std::vector<T>& points, int64_t number, EnsembleTotals& totals) {
  const ExperimentShape& shape = options.shape;
  const std::vector<T> first = first_centroids(shape, points, number);
  PlainModel<T> model{points.data(), shape.rows, shape.columns, shape.clusters, options.threads, first};
  model.labels.resize(static_cast<size_t>(shape.rows));
  std::vector<T> before;
  int64_t iterations = 0;
  const ElapsedTime watch;
  for (bool moved = true; moved && iterations < shape.iterations; ++iterations) {
    before = model.centroids;
    if (options.one_loop) {
      assign_and_sum(model);
    } else {
      assign_points(model);
      sum_points(model);
    }
    moved = move_centroids(model, options.threshold) < shape.clusters;
  }
  totals.seconds += watch.seconds();
  totals.iterations += iterations;
  const auto centroids = [&](const std::vector<T>& values) {
    return PointsView(values.data(), shape.clusters, shape.columns);
  };
  totals.verdict += check_kmeans({.points = {points.data(), shape.rows, shape.columns},
                                  .first = centroids(first),
                                  .before = centroids(before),
                                  .after = centroids(model.centroids),
                                  .iterations = iterations,
                                  .threshold = options.threshold,
                                  .labels = model.labels},
                                 shape.judge);
}

template <class T>
EnsembleTotals fit_models(const PlainOptions& options) {
  const std::vector<T> points = make_points<T>(options.shape);
  EnsembleTotals totals;
  for (int64_t m = 0; m < options.shape.models; ++m) fit_model(options, points, m, totals);
  return totals;
}

bool run(Arguments& arguments) {
  PlainOptions options{read_shape(arguments)};
  options.shape.points = arguments.word("points", kPointKinds);
  const std::string type = arguments.word("type", {"float64", "float32"});
  const std::string strategy = arguments.word("strategy", {"two-loops", "one-loop"});
  options.threads = read_threads(arguments);
  options.one_loop = strategy == "one-loop";
  options.threshold = arguments.real("threshold", 0);
  arguments.check_all_used();
  const EnsembleTotals totals = type == "float32" ? fit_models<float>(options) : fit_models<double>(options);
  ResultLine line(arguments.program(), options.shape);
  line.add("type", type);
  line.add("strategy", strategy);
  line.add("threads", int64_t{options.threads});
  line.add("threshold", options.threshold);
  line.add("seconds", totals.seconds);
  line.add("iterations", totals.iterations);
  return totals.verdict.print(line);
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_program(argc, argv, manymeans::founding::run);
}
