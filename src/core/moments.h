// Mean and variance of a column: docs/developer/contract.md, "Moments". Sums of x and x * x would lose the digits of a
// column far from zero. So its values are centred first, about a value that does not depend on the order of the rows.
#pragma once

#include "core/fixed_point.h"

namespace manymeans {

/// How the values of a column become integers: y = x - centre and y * y, with kDistanceLimbs limbs each.
struct MomentFormats {
  double centre = 0;
  SumFormat y, yy;

  /// For a column of finite values from minimum to maximum; bits is b of the contract.
  static MomentFormats make(int bits, double minimum, double maximum);
};

/// The limbs of the sums of one column's y and y * y.
struct MomentSums {
  int64_t y[kDistanceLimbs] = {};
  int64_t yy[kDistanceLimbs] = {};

  void merge(const MomentSums& other) {
    for (int g = 0; g < kDistanceLimbs; ++g) {
      y[g] += other.y[g];
      yy[g] += other.yy[g];
    }
  }
};

/// Adds the values of one column to its sums.
class MomentAdder {
 public:
  explicit MomentAdder(const MomentFormats& formats) : centre_(formats.centre), y_(formats.y), yy_(formats.yy) {}

  void add(double x, MomentSums& sums) const {
    const double y = x - centre_;
    y_.add(y, 1, sums.y);
    yy_.add(y * y, 1, sums.yy);
  }

 private:
  double centre_;
  TermAdder y_, yy_;
};

/// The variance is biased: the sum of squares around the mean, divided by n.
struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments moments(const MomentSums& sums, const MomentFormats& formats, int64_t n);

}  // namespace manymeans
