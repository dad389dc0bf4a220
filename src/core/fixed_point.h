// Order-free sums: terms become integers of a common scale, split into limbs of plain int64 sums.
// Any order, partition, thread or device gives the same integers, and taking a term away undoes it exactly.
#pragma once

#include "core/wide_int.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace manymeans {

constexpr int kMaxLimbs = 6;
constexpr int kDistanceLimbs = 3;  ///< of sums of squared distances, and of the moments' sums

/// Most limbs of a column's sum (contract, "Order-free sums"): 4 for float32 points, 6 for float64 points.
constexpr int max_limbs(bool float64_points) {
  return float64_points ? 6 : 4;
}

/// b: bits of a limb, so that N terms cannot overflow it.
constexpr int limb_bits(int64_t n) {
  return 62 - static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1)));
}

/// e(v): the exponent of frexp, |v| < 2^e(v); e(0) = 0.
inline int exponent(double v) {
  int e = 0;
  std::frexp(v, &e);
  return e;
}

/// Exponent of the lowest set bit of a finite v != 0: v is an odd multiple of 2^lowest_bit(v).
int lowest_bit(double v);

/// How the terms of one statistic become integers: T = RNE(v * 2^shift), kept in `limbs` limbs of `bits` bits.
struct SumFormat {
  int bits = 0;
  int limbs = 1;
  int shift = 0;

  /// The format for terms of magnitude at most max_abs.
  static SumFormat make(int bits, int limbs, double max_abs) {
    return {bits, limbs, limbs * bits - 2 - exponent(max_abs)};
  }
  bool operator==(const SumFormat&) const = default;
};

/// The smallest number of limbs for which terms with this largest magnitude and this lowest set bit
/// are exact, at most `most`.
inline int limbs_needed(int bits, double max_abs, int lowest, int most) {
  if (max_abs == 0) return 1;
  const int span = exponent(max_abs) - lowest + 2;
  return std::clamp((span + bits - 1) / bits, 1, most);
}

/// Adds sign * T(v) to limbs[0 .. format.limbs), limbs[g] weighing 2^(g * bits). All parts have the sign of v.
void add_term(double v, const SumFormat& format, int sign, int64_t* limbs);

/// add_term with the powers of two at hand; the same integer, though perhaps other limbs. For hot loops.
class TermAdder {
 public:
  TermAdder() = default;
  explicit TermAdder(const SumFormat& format)
      : format_(format),
        fast_(std::abs(top_exponent()) < 1022),
        top_(std::ldexp(1.0, top_exponent())),
        radix_(std::ldexp(1.0, format.bits)) {}

  void add(double v, int sign, int64_t* limbs) const {
    if (!fast_) return add_term(v, format_, sign, limbs);
    double y = v * top_;
    for (int g = format_.limbs - 1; g > 0; --g) {
      const auto part = static_cast<int64_t>(y);
      limbs[g] += sign * part;
      y = (y - static_cast<double>(part)) * radix_;
    }
    limbs[0] += sign * std::llrint(y);
  }
  const SumFormat& format() const { return format_; }

 private:
  int top_exponent() const { return format_.shift - (format_.limbs - 1) * format_.bits; }

  SumFormat format_;
  bool fast_ = false;  // top_ is a normal binary64
  double top_ = 0;     // 2^top_exponent
  double radix_ = 0;   // 2^bits
};

/// The integer S = sum of limbs[g * stride] * 2^(g * bits).
WideInt recombine(const int64_t* limbs, const SumFormat& format, int64_t stride = 1);

/// RN(S): the sum's integer, rounded once. The sum itself is ldexp(RN(S), -shift).
inline double rounded_sum(const int64_t* limbs, const SumFormat& format, int64_t stride = 1) {
  // One and two limbs, the usual cases, fit machine integers, whose conversions round correctly.
  if (format.limbs == 1) return static_cast<double>(limbs[0]);
  if (format.limbs > 2) return recombine(limbs, format, stride).to_double();
  const __int128 high = static_cast<__int128>(limbs[stride]) * (static_cast<__int128>(1) << format.bits);
  return static_cast<double>(high + limbs[0]);
}

}  // namespace manymeans
