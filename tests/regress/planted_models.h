// Rows around planted linear models, and whether a fit has found them.
#pragma once

#include <manymeans/regress.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace manymeans::test {

/// k planes in D features, with rows around them.
struct PlantedModels {
  int64_t n = 0, d = 0;
  std::vector<std::vector<double>> models;  // D coefficients and an intercept
  double noise = 0;                         // deviation: a tenth of the target's
  std::vector<double> rows;                 // N x (D + 1)

  PlantedModels(uint64_t seed, int64_t k, int64_t count, int64_t features) : n(count), d(features) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < k; ++i) {
      std::vector<double>& model = models.emplace_back();
      for (int64_t j = 0; j <= d; ++j) model.push_back(normal(random));
    }
    noise = 0.1 * std::sqrt(static_cast<double>(d + 1));
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<double>& model = models[random() % models.size()];
      double target = model[static_cast<size_t>(d)] + noise * normal(random);
      for (int64_t j = 0; j < d; ++j) {
        rows.push_back(normal(random));
        target += model[static_cast<size_t>(j)] * rows.back();
      }
      rows.push_back(target);
    }
  }
  PointsView view() const { return {rows.data(), n, d + 1}; }

  /// How many of the planted models have a fitted one whose predictions differ by less than the noise, in the mean
  /// square over the features.
  int64_t found(const Matrix& fitted) const {
    int64_t count = 0;
    for (const std::vector<double>& model : models) {
      bool near = false;
      for (int64_t k = 0; k < fitted.rows(); ++k) {
        double square = 0;
        for (int64_t j = 0; j <= d; ++j) square += std::pow(fitted.at(k, j) - model[static_cast<size_t>(j)], 2);
        near |= std::sqrt(square) < noise;
      }
      count += near;
    }
    return count;
  }
};

}  // namespace manymeans::test
