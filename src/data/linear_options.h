// How linear models are fitted. The options are here because an input carries them.
#pragma once

#include <manymeans/points.h>

namespace manymeans {

/// How a linear model is fitted to the rows of its cluster.
struct LinearOptions {
  double ridge = 0;          ///< added to each diagonal element of the centred Gram matrix, as a share of it
  bool intercept = true;     ///< false: the model goes through the origin
  double largest = 0x1p500;  ///< no |coefficient| or |intercept| may be above it; the mean of a target never is
};

/// A column counts as a combination of columns before it if its pivot is at most this share of its diagonal element.
/// The others are solved with a relative error of some D 2^-53 / kMinPivot. Every refinement multiplies the error by
/// that again, until nothing changes.
constexpr double kMinPivot = 0x1p-46;
constexpr int kMaxRefinements = 8;

/// For models of this type: rounding to the type gives no infinity then, and residuals do not overflow.
constexpr double largest_coefficient(DataType type) {
  return type == DataType::kFloat64 ? 0x1p500 : 0x1.fffffep127;
}

}  // namespace manymeans
