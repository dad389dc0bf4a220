#include "core/fixed_point.h"

namespace manymeans {

int lowest_bit(double v) {
  int e = 0;
  const double mantissa = std::frexp(std::fabs(v), &e);
  const auto integer = static_cast<uint64_t>(std::ldexp(mantissa, 53));
  return e - 53 + std::countr_zero(integer);
}

void add_term(double v, const SumFormat& format, int sign, int64_t* limbs) {
  // Scaled so that the top limb is the integer part; each remainder is exact, so only the last limb rounds.
  double y = std::ldexp(v, format.shift - (format.limbs - 1) * format.bits);
  for (int g = format.limbs - 1; g > 0; --g) {
    const double part = std::trunc(y);
    limbs[g] += sign * static_cast<int64_t>(part);
    y = std::ldexp(y - part, format.bits);
  }
  limbs[0] += sign * static_cast<int64_t>(std::nearbyint(y));
}

WideInt recombine(const int64_t* limbs, const SumFormat& format, int64_t stride) {
  WideInt sum;
  for (int g = 0; g < format.limbs; ++g) {
    if (limbs[g * stride] != 0) sum.add_shifted(limbs[g * stride], g * format.bits);
  }
  return sum;
}

}  // namespace manymeans
