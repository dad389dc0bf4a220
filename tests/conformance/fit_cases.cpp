#include "conformance/fit_cases.h"

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

void for_each_small_fit(const std::function<bool(const Case&, const FitOptions&)>& compare) {
  uint64_t seed = 1000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    for (const char* init : {"k-means++", "k-means||", "random", "first"}) {
      for (const char* stop : {"tol", "strict", "labels:0.05", "shift:0.01", "shift:0.1:0.5", "inertia:0.001"}) {
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
