#include "conformance/textbook_hamerly.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans::test {
namespace {

double between(const Matrix& a, int64_t i, const Matrix& b, int64_t k) {
  double square = 0;
  for (int64_t j = 0; j < a.columns(); ++j) square += (a.at(i, j) - b.at(k, j)) * (a.at(i, j) - b.at(k, j));
  return std::sqrt(square);
}

}  // namespace

TextbookHamerly::TextbookHamerly(const PointsView& points)
    : n_(points.n),
      d_(points.d),
      x_(static_cast<size_t>(points.n * points.d)),
      upper_(static_cast<size_t>(points.n)),
      lower_(static_cast<size_t>(points.n)),
      labels_(static_cast<size_t>(points.n)) {
  widen(points.data, points.type, 0, n_ * d_, x_.data());
}

double TextbookHamerly::distance(int64_t row, const Matrix& prototypes, int64_t k) {
  ++distances_;
  double square = 0;
  for (int64_t j = 0; j < d_; ++j) {
    const double t = x_[static_cast<size_t>(row * d_ + j)] - prototypes.at(k, j);
    square += t * t;
  }
  return std::sqrt(square);
}

// Looks at all prototypes.
void TextbookHamerly::label(int64_t row, const Matrix& prototypes) {
  const auto i = static_cast<size_t>(row);
  upper_[i] = lower_[i] = std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < prototypes.rows(); ++k) {
    const double d = distance(row, prototypes, k);
    lower_[i] = std::min(lower_[i], std::max(d, upper_[i]));
    if (d >= upper_[i]) continue;
    upper_[i] = d;
    labels_[i] = static_cast<uint32_t>(k);
  }
}

void TextbookHamerly::move_bounds(const Matrix& prototypes) {
  std::vector<double> moved;
  for (int64_t k = 0; k < prototypes.rows(); ++k) moved.push_back(between(prototypes, k, before_, k));
  const auto farthest = static_cast<size_t>(std::max_element(moved.begin(), moved.end()) - moved.begin());
  double second = 0;
  for (size_t k = 0; k < moved.size(); ++k) second = k == farthest ? second : std::max(second, moved[k]);
  for (size_t i = 0; i < labels_.size(); ++i) {
    upper_[i] += moved[labels_[i]];
    lower_[i] -= labels_[i] == farthest ? second : moved[farthest];
  }
}

void TextbookHamerly::pass(const Matrix& prototypes) {
  if (before_.empty()) {
    for (int64_t i = 0; i < n_; ++i) label(i, prototypes);
    before_ = prototypes;
    return;
  }
  move_bounds(prototypes);
  std::vector<double> halves(static_cast<size_t>(prototypes.rows()), std::numeric_limits<double>::infinity());
  for (int64_t a = 0; a < prototypes.rows(); ++a) {
    for (int64_t b = 0; b < prototypes.rows(); ++b) {
      if (a == b) continue;
      double& half = halves[static_cast<size_t>(a)];
      half = std::min(half, between(prototypes, a, prototypes, b) / 2);
    }
  }
  for (int64_t row = 0; row < n_; ++row) {
    const auto i = static_cast<size_t>(row);
    const double enough = std::max(halves[labels_[i]], lower_[i]);
    if (upper_[i] <= enough) continue;
    upper_[i] = distance(row, prototypes, labels_[i]);
    if (upper_[i] > enough) label(row, prototypes);
  }
  before_ = prototypes;
}

}  // namespace manymeans::test
