// Kinds of prototypes that only tests have, each a struct of a dozen lines: what a new kind has to say.
#pragma once

#include "core/distance.h"
#include "prototype/prototype_table.h"

#include <cmath>
#include <vector>

namespace manymeans::test {

/// A centroid of the first half of the columns: it has fewer parameters than a row has values.
struct HalfCentroid {
  static constexpr std::string_view kName = "half";
  static constexpr bool kEuclidean = false;

  static int64_t width(int64_t d) { return d / 2; }
  static int64_t terms(int64_t d) { return d / 2; }
  static double distance(const auto* x, const auto* c, int64_t d) { return canonical_distance(x, c, d / 2); }
  static void row_terms(const auto* x, int64_t d, double weight, double* terms) {
    for (int64_t j = 0; j < d / 2; ++j) terms[j] = weight * static_cast<double>(x[j]);
  }
  static void prototype_of_row(const auto* x, int64_t d, auto* c) { std::copy_n(x, d / 2, c); }
  static void solve(const ClusterSums& sums, double* c) {
    for (int64_t j = 0; j < sums.terms; ++j) {
      c[j] = std::ldexp(sums.rounded(j) / sums.weight, sums.weight_shift - sums.shift(j));
    }
  }
  static double shift(const auto* before, const auto* after, int64_t width) {
    return canonical_distance(before, after, width);
  }
};

/// A centroid that is seen from a known place: its parameters are its distances from there.
struct OffsetCentroid {
  static constexpr std::string_view kName = "offset";
  static constexpr bool kEuclidean = false;
  static constexpr double kPlace = 2.5;  // in every column

  static int64_t width(int64_t d) { return d; }
  static int64_t terms(int64_t d) { return d; }
  static double distance(const auto* x, const auto* c, int64_t d) {
    std::vector<double> seen(static_cast<size_t>(d));
    row_terms(x, d, 1, seen.data());
    const std::vector<double> centre(c, c + d);
    return canonical_distance(seen.data(), centre.data(), d);
  }
  static void row_terms(const auto* x, int64_t d, double weight, double* terms) {
    for (int64_t j = 0; j < d; ++j) terms[j] = weight * (static_cast<double>(x[j]) - kPlace);
  }
  template <class T>
  static void prototype_of_row(const T* x, int64_t d, T* c) {
    for (int64_t j = 0; j < d; ++j) c[j] = static_cast<T>(static_cast<double>(x[j]) - kPlace);
  }
  static void solve(const ClusterSums& sums, double* c) { HalfCentroid::solve(sums, c); }
  static double shift(const auto* before, const auto* after, int64_t d) { return canonical_distance(before, after, d); }
};

/// A slope b: rows (x, y) are far from it by (y - b x)^2. It has one parameter, rows have two values, and their terms,
/// x x and x y, are products.
struct Slope {
  static constexpr std::string_view kName = "slope";
  static constexpr bool kEuclidean = false;

  static int64_t width(int64_t) { return 1; }
  static int64_t terms(int64_t) { return 2; }
  static double distance(const auto* row, const auto* b, int64_t) {
    const double product = static_cast<double>(b[0]) * static_cast<double>(row[0]);
    const double residual = static_cast<double>(row[1]) - product;
    return residual * residual;
  }
  static void row_terms(const auto* row, int64_t, double weight, double* terms) {
    const auto x = static_cast<double>(row[0]), y = static_cast<double>(row[1]);
    terms[0] = weight * (x * x);
    terms[1] = weight * (x * y);
  }
  template <class T>
  static void prototype_of_row(const T* row, int64_t, T* b) {
    b[0] = row[0] == 0 ? T{0} : static_cast<T>(static_cast<double>(row[1]) / static_cast<double>(row[0]));
  }
  static void solve(const ClusterSums& sums, double* b) {
    b[0] = std::ldexp(sums.rounded(1) / sums.rounded(0), sums.shift(0) - sums.shift(1));
  }
  static double shift(const auto* before, const auto* after, int64_t) { return canonical_distance(before, after, 1); }
};

template <class Kind>
const Prototype& kind() {
  static const Prototype table = table_of<Kind>();
  return table;
}

}  // namespace manymeans::test
