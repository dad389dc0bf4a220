// The canonical squared distance: the only one that decides a label.
//
//   t = RN(x_j - c_j) in binary64,  p_(j mod 8) = fma(t, t, p_(j mod 8)),
//   d2 = ((p0 + p4) + (p2 + p6)) + ((p1 + p5) + (p3 + p7)).
//
// Eight lanes because that is one AVX-512 register or two AVX2 registers; the last line is the order in
// which such registers fold in halves. Padding with zeros does not change the bits: fma(0, 0, p) = p.
#pragma once

#include <cmath>
#include <cstdint>

namespace manymeans {

/// d2(x, c) of two rows of `d` values, plain and portable. T is float or double.
template <class T>
double canonical_distance(const T* x, const T* c, int64_t d) {
  double p[8] = {};
  for (int64_t j = 0; j < d; ++j) {
    const double t = static_cast<double>(x[j]) - static_cast<double>(c[j]);
    p[j % 8] = std::fma(t, t, p[j % 8]);
  }
  return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

}  // namespace manymeans
