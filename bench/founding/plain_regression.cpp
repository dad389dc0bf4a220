// Regression clustering in sequential C++ (program plain_regression), and with OpenMP (program openmp_regression).
//
//   plain_regression --rows N --columns D --clusters K --models M --iterations I --type float64|float32
//                    --seed 1 --judge reference
//   openmp_regression takes the same options and --threads T.
//
// Study 4, section 5: a cluster is a linear function y = c^T x without intercept. A row belongs to the function with
// the least squared residual. New coefficients solve the normal equations A^T A c = A^T b of the cluster's rows, which
// are sums over rows. So each thread sums its rows, and the sums are joined. Table 5.3 has D = 4 and 50 iterations.
#include "founding/founding.h"
#include "founding/founding_check.h"
#include "founding/plain_threads.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans::founding {
namespace {

// Rows are d features and a target. Models are d coefficients and a 0, the form in which the library has them.
template <class T>
struct RegressionProblem {
  ExperimentShape shape;
  int threads = 1;
  std::vector<T> rows = {};
  int64_t terms() const { return shape.columns * (shape.columns + 3) / 2; }  // a triangle of A^T A, and A^T b
};

// Targets of random planes, with some noise.
template <class T>
void make_rows(RegressionProblem<T>& problem) {
  const ExperimentShape& shape = problem.shape;
  PointSource random(shape.seed);
  std::vector<double> planes(static_cast<size_t>(shape.clusters * shape.columns));
  for (double& coefficient : planes) coefficient = 2 * random.uniform() - 1;
  for (int64_t i = 0; i < shape.rows; ++i) {
    const double* const plane = planes.data() + random.below(shape.clusters) * shape.columns;
    double target = 0.01 * random.bell();
    for (int64_t j = 0; j < shape.columns; ++j) {
      const T feature = static_cast<T>(random.uniform());
      target += plane[j] * static_cast<double>(feature);
      problem.rows.push_back(feature);
    }
    problem.rows.push_back(static_cast<T>(target));
  }
}

template <class T>
std::vector<T> random_models(const ExperimentShape& shape, int64_t number) {
  PointSource random(shape.seed + 1000003 * static_cast<uint64_t>(number + 1));
  std::vector<T> models;
  for (int64_t c = 0; c < shape.clusters; ++c) {
    for (int64_t j = 0; j < shape.columns; ++j) models.push_back(static_cast<T>(2 * random.uniform() - 1));
    models.push_back(0);
  }
  return models;
}

template <class T>
int32_t best_model(const ExperimentShape& shape, const std::vector<T>& models, const T* row) {
  const int64_t d = shape.columns;
  int32_t best = 0;
  T least = std::numeric_limits<T>::max();
  for (int64_t c = 0; c < shape.clusters; ++c) {
    const T* const model = models.data() + c * (d + 1);
    T residual = -row[d];
    for (int64_t j = 0; j < d; ++j) residual += model[j] * row[j];
    if (residual * residual < least) {
      least = residual * residual;
      best = static_cast<int32_t>(c);
    }
  }
  return best;
}

// Sums in float64 whatever the rows are: the normal equations square the condition of the features.
template <class T>
void add_row(const T* row, int64_t d, double* sums) {
  for (int64_t a = 0; a < d; ++a) {
    for (int64_t b = 0; b <= a; ++b) *sums++ += static_cast<double>(row[a]) * static_cast<double>(row[b]);
  }
  for (int64_t a = 0; a < d; ++a) *sums++ += static_cast<double>(row[a]) * static_cast<double>(row[d]);
}

template <class T>
std::vector<double> assign_rows(const RegressionProblem<T>& problem, const std::vector<T>& models,
                                std::vector<int32_t>& labels) {
  const int64_t n = problem.shape.rows, d = problem.shape.columns, terms = problem.terms();
  std::vector<double> sums(static_cast<size_t>(problem.shape.clusters * terms), 0.0);
#pragma omp parallel num_threads(problem.threads)
  {
    std::vector<double> own(sums.size(), 0.0);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
      const T* const row = problem.rows.data() + i * (d + 1);
      const int32_t label = best_model(problem.shape, models, row);
      labels[static_cast<size_t>(i)] = label;
      add_row(row, d, own.data() + label * terms);
    }
#pragma omp critical
    for (size_t s = 0; s < sums.size(); ++s) sums[s] += own[s];
  }
  return sums;
}

// Replaces the triangle by its Cholesky factor L and the right side by the solution of L L^T c = b. Returns false if
// the rows do not determine the coefficients.
bool solve_normal_equations(double* triangle, int64_t d) {
  double* const right = triangle + d * (d + 1) / 2;
  const auto at = [&](int64_t a, int64_t b) -> double& { return triangle[a * (a + 1) / 2 + b]; };
  for (int64_t a = 0; a < d; ++a) {
    const double square = at(a, a);
    for (int64_t b = 0; b <= a; ++b) {
      double rest = at(a, b);
      for (int64_t j = 0; j < b; ++j) rest -= at(a, j) * at(b, j);
      if (a == b && !(rest > 1e-10 * square)) return false;
      at(a, b) = a == b ? std::sqrt(rest) : rest / at(b, b);
    }
  }
  for (int64_t a = 0; a < d; ++a) {
    for (int64_t j = 0; j < a; ++j) right[a] -= at(a, j) * right[j];
    right[a] /= at(a, a);
  }
  for (int64_t a = d - 1; a >= 0; --a) {
    for (int64_t j = a + 1; j < d; ++j) right[a] -= at(j, a) * right[j];
    right[a] /= at(a, a);
  }
  return true;
}

// Returns how many models stay as they are because their rows do not determine them.
template <class T>
int64_t update_models(const RegressionProblem<T>& problem, std::vector<double>& sums, std::vector<T>& models) {
  const int64_t d = problem.shape.columns, terms = problem.terms();
  int64_t kept = 0;
  for (int64_t c = 0; c < problem.shape.clusters; ++c) {
    double* const equations = sums.data() + c * terms;
    if (!solve_normal_equations(equations, d)) {
      ++kept;
      continue;
    }
    const double* const solution = equations + d * (d + 1) / 2;
    for (int64_t j = 0; j < d; ++j) models[static_cast<size_t>(c * (d + 1) + j)] = static_cast<T>(solution[j]);
  }
  return kept;
}

template <class T>
bool fit_and_check(const ExperimentShape& shape, int threads, ResultLine& line) {
  RegressionProblem<T> problem{shape, threads};
  make_rows(problem);
  RunVerdict verdict;
  double seconds = 0;
  int64_t kept = 0, iterations = 0;
  for (int64_t m = 0; m < shape.models; ++m) {
    const std::vector<T> first = random_models<T>(shape, m);
    std::vector<T> models = first, before;
    std::vector<int32_t> labels(static_cast<size_t>(shape.rows));
    int64_t kept_here = 0, done = 0;
    const ElapsedTime watch;
    for (; done < shape.iterations && models != before; ++done) {
      before = models;
      std::vector<double> sums = assign_rows(problem, models, labels);
      kept_here += update_models(problem, sums, models);
    }
    seconds += watch.seconds();
    iterations += done;
    kept += kept_here;
    const auto view = [&](const std::vector<T>& values) {
      return PointsView(values.data(), shape.clusters, shape.columns + 1);
    };
    verdict += check_regression({.points = {problem.rows.data(), shape.rows, shape.columns + 1},
                                 .first = view(first),
                                 .before = view(before),
                                 .after = view(models),
                                 .iterations = done,
                                 .kept_singular = kept_here > 0,
                                 .labels = labels},
                                shape.judge);
  }
  line.add("seconds", seconds);
  line.add("iterations", iterations);
  line.add("models_kept", kept);
  verdict.add_to(line);
  return verdict.right();
}

bool run(Arguments& arguments) {
  ExperimentShape shape = read_shape(arguments);
  shape.points = "planes";
  const std::string type = arguments.word("type", {"float64", "float32"});
  const int threads = read_threads(arguments);
  arguments.check_all_used();
  ResultLine line(arguments.program(), shape);
  line.add("type", type);
  line.add("threads", int64_t{threads});
  const bool right =
      type == "float32" ? fit_and_check<float>(shape, threads, line) : fit_and_check<double>(shape, threads, line);
  line.print();
  return right;
}

}  // namespace
}  // namespace manymeans::founding

int main(int argc, char** argv) {
  return manymeans::founding::run_program(argc, argv, manymeans::founding::run);
}
