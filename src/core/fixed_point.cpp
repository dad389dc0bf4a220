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
  for (int g = 0; g < format.limbs; ++g) sum.add_shifted(limbs[g * stride], g * format.bits);
  return sum;
}

double rounded_sum(const int64_t* limbs, const SumFormat& format, int64_t stride) {
  // One and two limbs, the usual cases, fit machine integers, whose conversions round correctly.
  if (format.limbs == 1) return static_cast<double>(limbs[0]);
  if (format.limbs == 2) {
    const __int128 high = static_cast<__int128>(limbs[stride]) * (static_cast<__int128>(1) << format.bits);
    return static_cast<double>(high + limbs[0]);
  }
  return recombine(limbs, format, stride).to_double();
}

namespace {

// A sum as an unevaluated pair high + low, good to about 2^-106 of its size.
struct Pair {
  double high;
  double low;
};

// The sum times 2^-unit.
Pair to_pair(const int64_t* limbs, const SumFormat& format, int unit) {
  const WideInt sum = recombine(limbs, format);
  const double high = sum.to_double();
  // The remainder is below 2^-53 of the sum, an integer again: subtract `high` exactly.
  WideInt rest = sum;
  int e = 0;
  const auto mantissa = static_cast<int64_t>(std::ldexp(std::frexp(high, &e), 53));
  if (e >= 53) {
    rest.add_shifted(-mantissa, e - 53);
  } else {
    rest = WideInt();  // fewer than 53 bits: `high` is the sum
  }
  return {std::ldexp(high, -format.shift - unit), std::ldexp(rest.to_double(), -format.shift - unit)};
}

}  // namespace

Moments moments(const int64_t* sum, const SumFormat& sum_format, const int64_t* squares,
                const SumFormat& squares_format, int64_t n) {
  // In units of 2^e > max|x|, or the square of a sum of large values would overflow; exact.
  const int e = sum_format.limbs * sum_format.bits - 2 - sum_format.shift;
  const Pair s = to_pair(sum, sum_format, e);
  const Pair q = to_pair(squares, squares_format, 2 * e);
  const auto count = static_cast<double>(n);
  // (n * q - s * s) / n^2, products as pairs, so that the cancellation of large offsets is harmless.
  const double nq = count * q.high;
  const double nq_low = std::fma(count, q.high, -nq) + count * q.low;
  const double ss = s.high * s.high;
  const double ss_low = std::fma(s.high, s.high, -ss) + 2 * s.high * s.low;
  const double difference = (nq - ss) + (nq_low - ss_low);
  return {std::ldexp(s.high / count, e), std::ldexp(std::max(0.0, difference / count / count), 2 * e)};
}

}  // namespace manymeans
