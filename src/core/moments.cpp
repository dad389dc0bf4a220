#include "core/moments.h"

namespace manymeans {
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

// The midrange, rounded once: a sum that rounds is large enough to be halved exactly. The 0.0 makes -0 and 0 one: the
// order of the rows decides which of them is the minimum or the maximum.
double midrange(double minimum, double maximum) {
  return (minimum + maximum) / 2 + 0.0;
}

}  // namespace

MomentFormats MomentFormats::make(int bits, double minimum, double maximum) {
  const double centre = midrange(minimum, maximum);
  // Rounding is monotone: these are the largest and the smallest x - centre as MomentAdder rounds them.
  const double largest = std::max(maximum - centre, centre - minimum);
  return {centre, SumFormat::make(bits, kDistanceLimbs, largest),
          SumFormat::make(bits, kDistanceLimbs, largest * largest)};
}

Moments moments(const MomentSums& sums, const MomentFormats& formats, int64_t n) {
  // In units of 2^e > max|y|, or the square of a sum of large values would overflow; exact.
  const int e = formats.y.limbs * formats.y.bits - 2 - formats.y.shift;
  const Pair s = to_pair(sums.y, formats.y, e);
  const Pair q = to_pair(sums.yy, formats.yy, 2 * e);
  const auto count = static_cast<double>(n);
  // (n * q - s * s) / n^2, products as pairs: one value far from all others is as far from the centre.
  const double nq = count * q.high;
  const double nq_low = std::fma(count, q.high, -nq) + count * q.low;
  const double ss = s.high * s.high;
  const double ss_low = std::fma(s.high, s.high, -ss) + 2 * s.high * s.low;
  const double difference = (nq - ss) + (nq_low - ss_low);
  return {formats.centre + std::ldexp(s.high / count, e), std::ldexp(std::max(0.0, difference / count / count), 2 * e)};
}

}  // namespace manymeans
