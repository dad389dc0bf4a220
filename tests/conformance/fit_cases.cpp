#include "conformance/fit_cases.h"

#include "core/threads.h"
#include "data/input.h"
#include "prototype/centroid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans::test {

FitOptions small_options(const char* init, const char* stop, EmptyPolicy empty) {
  FitOptions options;
  options.k = {3, 8, 5};
  options.models = 2;
  options.seed = 42;
  options.init = init;
  options.stop = stop;
  options.empty = empty;
  options.max_iter = 12;
  return options;
}

FitOptions given_options(EmptyPolicy empty) {
  FitOptions options = small_options("auto", "strict", empty);
  options.k = {12};
  options.models = 1;
  options.max_iter = 8;
  return options;
}

namespace {

// What a stop rule sees of one update.
struct SeenUpdate {
  int64_t changed = 0;
  double all = 0;       // squared shifts
  double farthest = 0;  // the largest of them
  double inertia = 0;   // of the pass before it
};

std::vector<SeenUpdate> updates_of(const Case& made, FitOptions options) {
  options.backend = "reference";
  options.stop = "strict";
  std::vector<SeenUpdate> updates;
  Matrix before;
  double inertia = 0;
  for (options.max_iter = 0; options.max_iter <= 12; ++options.max_iter) {
    const FitResult result = fit(made.points(), made.weights, options);
    if (result.models[0].iterations < options.max_iter) break;
    const Matrix& after = result.models[0].prototypes;
    if (options.max_iter > 0) {
      const std::vector<double> d2 = squared_shifts(centroid(), before, after);
      const auto pass = static_cast<size_t>(options.max_iter - 1);
      updates.push_back({result.provenance.pass_log[pass].changed, std::accumulate(d2.begin(), d2.end(), 0.0),
                         *std::max_element(d2.begin(), d2.end()), inertia});
    }
    before = after;
    inertia = result.models[0].inertia;
  }
  return updates;
}

// The smallest value, near `guess`, whose product reaches `wanted`.
template <class Product>
double least_that_reaches(double wanted, double guess, const Product& product) {
  while (product(guess) < wanted) guess = std::nextafter(guess, HUGE_VAL);
  while (guess > 0 && product(std::nextafter(guess, 0.0)) >= wanted) guess = std::nextafter(guess, 0.0);
  return guess;
}

// The options of a fit with each of the rules at its threshold and below.
std::vector<FitOptions> threshold_fits(const Case& made, const FitOptions& options) {
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const double variance = mean_variance(column_moments(input, pool));
  std::vector<FitOptions> fits;
  for (const SeenUpdate& update : updates_of(made, options)) {
    const double share = static_cast<double>(update.changed) / static_cast<double>(made.shape.n);
    const double tol = least_that_reaches(update.all, update.all / variance, [&](double t) { return t * variance; });
    const double root = least_that_reaches(update.farthest, std::sqrt(update.farthest), [](double e) { return e * e; });
    for (const bool below : {false, true}) {
      const auto value = [&](double v) { return below ? std::nextafter(v, 0.0) : v; };
      fits.insert(fits.end(), 4, options);
      (fits.end() - 4)->stop = fmt::format("error:{}", value(update.inertia));
      (fits.end() - 3)->stop = fmt::format("labels:{}", value(share));
      (fits.end() - 2)->stop = fmt::format("shift:{}", value(root));
      (fits.end() - 1)->stop = "tol";
      (fits.end() - 1)->tol = value(tol);
    }
  }
  return fits;
}

}  // namespace

void for_each_threshold_fit(const std::function<bool(const Case&, const FitOptions&)>& compare) {
  uint64_t seed = 3000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    for (const EmptyPolicy empty : {EmptyPolicy::kFarthest, EmptyPolicy::kDrop}) {
      const Case made = make_case(Family::kClusters, type, Weighting::kNone, {300, 3, {1}}, seed++);
      FitOptions options = small_options("first", "strict", empty);
      options.k = {7};
      options.models = 1;
      options.max_iter = 30;
      for (const FitOptions& fit : threshold_fits(made, options)) {
        if (!compare(made, fit)) return;
      }
    }
  }
}

void for_each_small_fit(const std::function<bool(const Case&, const FitOptions&)>& compare) {
  uint64_t seed = 1000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (const char* init : {"k-means++", "k-means||", "random", "first"}) {
      for (const char* stop :
           {"tol", "strict", "labels:0.05", "shift:0.01", "shift:0.1:0.5", "inertia:0.001", "error:20"}) {
        for (const EmptyPolicy empty : kPolicies) {
          const auto family = static_cast<Family>(seed % kFamilies);
          const auto weighting = static_cast<Weighting>(seed % kWeightings);
          const Shape shape{static_cast<int64_t>(60 + seed % 211), static_cast<int64_t>(1 + seed % 9), {1}};
          if (!compare(make_case(family, type, weighting, shape, seed), small_options(init, stop, empty))) return;
          ++seed;
        }
      }
    }
  }
}

}  // namespace manymeans::test
