// How the terms of an input's sums become limbs (core/fixed_point.h), in the host's memory: what kernels are given.
#pragma once

#include "data/input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace manymeans::device {

struct SumScales {
  int limbs = 1;
  double radix = 1;                   ///< 2^bits
  bool normal = true;                 ///< all `tops` are normal numbers
  std::vector<double> tops;           ///< 2^exponent of every term
  std::vector<int32_t> exponents;     ///< shift - (limbs - 1) * bits of every term
  std::vector<int32_t> solve_shifts;  ///< weight_shift - shift of every term: a mean is RN(S) / RN(W) times 2 to this

  explicit SumScales(const Input& input) : limbs(input.limbs), radix(std::ldexp(1.0, input.bits)) {
    for (const SumFormat& format : input.columns) {
      exponents.push_back(format.shift - (format.limbs - 1) * format.bits);
      normal = normal && std::abs(exponents.back()) < 1022;
      tops.push_back(std::ldexp(1.0, std::clamp(exponents.back(), -1022, 1023)));
      solve_shifts.push_back(input.weight_shift - format.shift);
    }
  }
};

}  // namespace manymeans::device
