// The centroid as prototype: what k-means represents a cluster by.
#pragma once

#include "core/distance.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <cmath>

namespace manymeans {

struct Centroid {
  static constexpr std::string_view kName = "centroid";
  static constexpr bool kEuclidean = true;

  static int64_t width(int64_t d) { return d; }
  static int64_t terms(int64_t d) { return d; }
  static double distance(const auto* x, const auto* c, int64_t d) { return canonical_distance(x, c, d); }
  static void row_terms(const auto* x, int64_t d, double weight, double* terms) {
    for (int64_t j = 0; j < d; ++j) terms[j] = weight * static_cast<double>(x[j]);
  }
  static void prototype_of_row(const auto* x, int64_t d, auto* c) { std::copy_n(x, d, c); }
  /// c_j = fl_T(ldexp(RN(S_j) / RN(W), weight_shift - s_j)).
  static void solve(const ClusterSums& sums, double* c) {
    for (int64_t j = 0; j < sums.terms; ++j) {
      c[j] = sums.mean(j);
    }
  }
  static double shift(const auto* before, const auto* after, int64_t d) {
    if (std::equal(before, before + d, after)) return 0;  // most, near the end
    return canonical_distance(before, after, d);
  }
};

/// Its table.
const Prototype& centroid();

}  // namespace manymeans
