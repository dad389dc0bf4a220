// ProductFormats of an input of linear models, in the host's memory.
#pragma once

#include "backend/device/linear_rows.h"
#include "data/input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace manymeans::device {

struct ProductScales {
  int limbs = 1;
  double radix = 1;
  bool normal = true;  ///< all `tops` are normal numbers
  std::vector<double> tops;
  std::vector<int32_t> exponents;

  explicit ProductScales(const Input& input) : limbs(input.limbs), radix(std::ldexp(1.0, input.bits)) {
    for (const SumFormat& format : input.columns) {
      exponents.push_back(format.shift - (format.limbs - 1) * format.bits);
      normal = normal && std::abs(exponents.back()) < 1022;
      tops.push_back(std::ldexp(1.0, std::clamp(exponents.back(), -1022, 1023)));
    }
  }
  ProductFormats here() const { return {limbs, radix, normal ? tops.data() : nullptr, exponents.data()}; }
};

}  // namespace manymeans::device
