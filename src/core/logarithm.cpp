#include "core/logarithm.h"

#include <cmath>
#include <limits>

namespace manymeans {

// The reduction and the coefficients of fdlibm's e_log.c (Sun Microsystems, 1993), whose error is below 1 ulp.
double logarithm(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (x == 0) return -kInfinity;
  if (!(x > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == kInfinity) return x;
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)), so that f = m - 1 is exact.
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --exponent;
  }
  const double f = m - 1, e = exponent;
  // log(1 + f) = f - h + s (h + R(s^2)), s = f / (2 + f), h = f^2 / 2.
  const double s = f / (2 + f), z = s * s, w = z * z, h = 0.5 * f * f;
  const double even = w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
  const double odd =
      z * (0x1.5555555555593p-1 + w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
  constexpr double kLn2High = 0x1.62e42feep-1;  // e times it is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  return e * kLn2High - ((h - (s * (h + (odd + even)) + e * kLn2Low)) - f);
}

// Kahan: the quotient makes up for what 1 + x rounds off.
double logarithm_of_one_plus(double x) {
  const double u = 1 + x;
  if (!std::isfinite(x) || x <= -1) return logarithm(u);
  return u == 1 ? x : logarithm(u) * (x / (u - 1));
}

}  // namespace manymeans
