// Small rows, and options that reach everything that regress() can be told, for its tests.
#pragma once

#include <manymeans/regress.h>

#include "regress/planted_models.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace manymeans::test {

/// Rows of two features and a target around three planes, in several types, with weights. Some rows come twice.
struct SmallRows {
  int64_t n;
  std::vector<double> f64;
  std::vector<float> f32;
  std::vector<int8_t> i8;
  std::vector<double> weights;

  explicit SmallRows(int64_t rows, uint64_t seed = 3) : n(rows) {
    const PlantedModels planted(seed, 3, rows, 2);
    f64 = planted.rows;
    for (size_t i = 0; i < 60 && i + 90 < f64.size(); ++i) f64[i + 30] = f64[i];
    for (const double value : f64) {
      f32.push_back(static_cast<float>(value));
      i8.push_back(static_cast<int8_t>(std::fmin(127, std::fmax(-128, 20 * value))));
    }
    for (int64_t i = 0; i < n; ++i) weights.push_back(i % 7 == 0 ? 0 : 1 + 0.37 * static_cast<double>(i % 5));
  }
  PointsView view(DataType type) const {
    switch (type) {
      case DataType::kFloat64: return {f64.data(), n, 3};
      case DataType::kInt8: return {i8.data(), n, 3, DataType::kInt8};
      default: return {f32.data(), n, 3};
    }
  }
};

struct RegressCase {
  RegressOptions options;
  DataType type = DataType::kFloat32;
  bool weighted = false;
  std::string name;
};

/// These initialisations with every stop rule; the rest in turn.
inline std::vector<RegressCase> regress_cases(std::span<const char* const> inits) {
  constexpr std::array kTypes = {DataType::kFloat32, DataType::kFloat64, DataType::kInt8};
  constexpr std::array kPolicies = {EmptyPolicy::kFarthest, EmptyPolicy::kKeep, EmptyPolicy::kDrop};
  std::vector<RegressCase> result;
  for (const char* init : inits) {
    for (const char* stop : {"strict", "labels:0.02", "shift:0.05:0.5", "error:20,inertia:0.01", "tol"}) {
      const size_t i = result.size();
      RegressCase& made = result.emplace_back();
      made.options.k = {2, 5};
      made.options.models = 2;
      made.options.init = init;
      made.options.stop = stop;
      made.options.empty = kPolicies[i % 3];
      made.options.swaps = static_cast<int64_t>(i % 3);
      made.options.ridge = i % 4 == 1 ? 0.125 : 0;
      made.options.intercept = i % 5 != 2;
      made.options.max_iter = i % 4 == 2 ? 17 : 3000;
      made.type = kTypes[(i + i / 3) % 3];
      made.weighted = i % 2 == 1;
      made.name = fmt::format("{}, {}, case {}", init, stop, i);
    }
  }
  return result;
}

inline std::vector<RegressCase> regress_cases() {
  return regress_cases(std::array{"auto", "kmeans"});
}

}  // namespace manymeans::test
