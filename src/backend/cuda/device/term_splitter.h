#pragma once

#include "core/fixed_point.h"

#include <cmath>

namespace manymeans::cuda {

/// A SumFormat with the powers of two at hand, made on the host and given to kernels by value.
struct TermSplitter {
  int bits = 0;
  int top_exponent = 0;  ///< shift - (limbs - 1) * bits
  bool fast = true;      ///< 2^top_exponent is a normal binary64
  double top = 1;
  double radix = 1;

  TermSplitter() = default;
  explicit TermSplitter(const SumFormat& format)
      : bits(format.bits), top_exponent(format.shift - (format.limbs - 1) * format.bits) {
    fast = std::abs(top_exponent) < 1022;
    top = fast ? std::ldexp(1.0, top_exponent) : 0;
    radix = std::ldexp(1.0, bits);
  }
};

}  // namespace manymeans::cuda
