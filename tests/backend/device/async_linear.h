// Linear models as kernels compute them, row by row: src/backend/device/linear_rows.h.
#pragma once

#include "backend/device/linear_rows.h"
#include "core/fixed_point.h"

#include <cstdint>
#include <vector>

namespace manymeans::test {

/// `k` models of d values each, in groups.
inline std::vector<double> in_groups(const double* models, int64_t k, int64_t d) {
  const int64_t padded = (k + device::kGroupModels - 1) / device::kGroupModels * device::kGroupModels;
  const int64_t values = device::features_in_groups(static_cast<int>(d - 1)) + 1;
  std::vector<double> groups(static_cast<size_t>(padded * values));
  for (int64_t i = 0; i < k * d; ++i) {
    const int64_t j = i % d == d - 1 ? values - 1 : i % d;
    groups[static_cast<size_t>(device::place_in_groups(i / d, j, values))] = models[i];
  }
  return groups;
}

/// Of a row of d values among k models.
template <class Best>
Best nearest_models(const double* row, int64_t d, const std::vector<double>& groups, int64_t k) {
  Best best;
  device::dispatch_features(d - 1, [&]<int F>() {
    const auto x = [row, d](int64_t j) { return j < d - 1 ? row[j] : 0; };
    const int features = device::features_in_groups(static_cast<int>(d - 1));
    for (int64_t first = 0; first < k; first += device::kGroupModels) {
      double said[device::kGroupModels];
      device::predict_group<F>(x, features, groups.data() + first * (features + 1), said);
      device::take_group(row[d - 1], said, static_cast<uint32_t>(first), static_cast<uint32_t>(k), best);
    }
  });
  return best;
}

inline double async_residual(const double* row, const double* model, int64_t d) {
  const auto x = [row](int j) { return row[j]; };
  const auto value = [model](int j) { return model[j]; };
  return device::squared_residual(x, value, static_cast<int>(d - 1));
}

/// Adds the terms of a row to the sums of a cluster, (limbs, terms); of weight -w' where it leaves.
inline void add_products(const device::ProductFormats& formats, const double* row, int64_t d, double weight,
                         int64_t* sums) {
  const int64_t terms = 2 * ValuePair::count(d);
  const auto value = [&](int i) { return i == d ? 1.0 : row[i]; };
  ValuePair pair;
  for (int64_t p = 0; 2 * p < terms; ++p, pair.advance(1, static_cast<int>(d))) {
    device::PairSums<kMaxLimbs, true> of_pair;
    of_pair.add(formats, p, value(pair.i), value(pair.j), weight);
    for (int s = 0; s < formats.limbs; ++s) {
      int64_t* const limbs = sums + (formats.limbs - 1 - s) * terms + 2 * p;
      limbs[0] += of_pair.product.limb[s];
      limbs[1] += of_pair.rest.limb[s];
    }
  }
}

}  // namespace manymeans::test
