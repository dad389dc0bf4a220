// Small rows for the tests of regress().
#pragma once

#include "regress/planted_models.h"

#include <cstdint>
#include <span>
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

}  // namespace manymeans::test
