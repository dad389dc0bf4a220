// Linear models as columns of a screen's product. In a frame with a scale for every column (frame.h) the residual of a
// row is offset + y . z. Here y is the row with its target in the last place: docs/developer/screens.md, "Residuals".
#pragma once

#include <manymeans/points.h>

#include "backend/frame.h"
#include "data/input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace manymeans {

class LinearColumns {
 public:
  /// All arguments must outlive it.
  LinearColumns(const Matrix& models, const Input& input, const Frame& frame)
      : models_(models), input_(input), frame_(frame), features_(models.columns() - 1) {}

  /// Calls body(j, z_j).
  template <class Body>
  void for_each_value(int64_t k, Body&& body) const {
    for (int64_t j = 0; j < features_; ++j) body(j, -models_.at(k, j) * (target_scale() / scale(j)));
    body(features_, 1.0);
  }
  double offset(int64_t k) const {
    double sum = models_.at(k, features_) - centre(features_);
    for (int64_t j = 0; j < features_; ++j) sum += models_.at(k, j) * centre(j);
    return -sum * target_scale();
  }
  /// In the frame: at least the roundings of the offset and of a canonical residual together. It also suffices for
  /// residuals that far apart to have different squares. Infinite where squares may overflow or vanish.
  double slack(int64_t k) const {
    constexpr double kMaxSize = 0x1p490, kMaxScale = 0x1p450;
    double size = std::fabs(models_.at(k, features_)) + largest(features_);
    for (int64_t j = 0; j < features_; ++j) size += std::fabs(models_.at(k, j)) * largest(j);
    if (!(size < kMaxSize && target_scale() <= kMaxScale)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(2 * features_ + 16) * 0x1p-52 * size * target_scale();
  }

 private:
  double centre(int64_t j) const { return frame_.centre[static_cast<size_t>(j)]; }
  double scale(int64_t j) const { return frame_.scales[static_cast<size_t>(j)]; }
  double target_scale() const { return scale(features_); }
  double largest(int64_t j) const {
    const auto at = static_cast<size_t>(j);
    return std::max(std::fabs(input_.minimum[at]), std::fabs(input_.maximum[at]));
  }

  const Matrix& models_;
  const Input& input_;
  const Frame& frame_;
  int64_t features_;
};

}  // namespace manymeans
