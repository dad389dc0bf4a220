// Points for the engine's tests.
#pragma once

#include <manymeans/fit.h>

#include <random>
#include <vector>

namespace manymeans::test {

/// n x d points of overlapping components.
inline std::vector<float> mixture(int64_t n, int64_t d, unsigned seed, int components = 5) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> centres(static_cast<size_t>(components * d));
  for (float& v : centres) v = 2 * normal(random);
  std::vector<float> x(static_cast<size_t>(n * d));
  for (int64_t i = 0; i < n; ++i) {
    const auto component = static_cast<int64_t>(random() % static_cast<unsigned>(components));
    for (int64_t j = 0; j < d; ++j) {
      x[static_cast<size_t>(i * d + j)] = centres[static_cast<size_t>(component * d + j)] + normal(random);
    }
  }
  return x;
}

inline FitOptions options(std::vector<int64_t> k, int64_t models = 1) {
  FitOptions result;
  result.k = std::move(k);
  result.models = models;
  result.threads = 2;
  return result;
}

}  // namespace manymeans::test
