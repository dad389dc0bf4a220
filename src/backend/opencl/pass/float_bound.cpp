#include "backend/opencl/pass/float_bound.h"

#include "core/rounding.h"

#include <algorithm>
#include <cmath>

namespace manymeans::opencl {
namespace {

constexpr double kUnit = 0x1p-24;

// Of a score of d columns, in all.
double roundings(int64_t d) {
  return static_cast<double>(d + 8) * kUnit;
}

}  // namespace

bool FloatBound::holds(int64_t d) {
  return roundings(d) < 1 && roundings(d) / (1 - roundings(d)) <= 0.5;
}

FloatBound FloatBound::make(int64_t d, int exponent, double scale) {
  const double gamma = roundings(d) / (1 - roundings(d));
  const double inflation = 1 + 0x1p-10 + 4 * gamma;  // pays for the roundings of the bounds themselves
  const double eta = (static_cast<double>(d) / 8 + 8) * 0x1p-52;
  FloatBound bound;
  bound.slope = (2 * kUnit + gamma) * inflation * scale;
  bound.square = (gamma + 2 * kUnit + 2 * eta) * inflation * scale;
  // A device may take numbers below 2^-126 for zero, where others lose 2^-150 of them.
  bound.absolute = static_cast<double>(2 * d + 8) * 0x1p-60 * scale;
  bound.score.slack = rounded_up(2 * eta * inflation * scale);
  const double underflow = std::ldexp(static_cast<double>(d), 2 * std::min(exponent, 600) - 1073);
  bound.score.underflow = rounded_up(std::max(underflow, 0x1p-100) * (1 + 0x1p-10));
  return bound;
}

}  // namespace manymeans::opencl
