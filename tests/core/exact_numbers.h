// Exact arithmetic for tests: GMP integers and rationals as the judge of every rounding.
#pragma once

#include "core/fixed_point.h"
#include "core/wide_int.h"

#include <gmpxx.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

namespace manymeans::test {

inline mpz_class power_of_two(unsigned exponent) {
  return mpz_class(1) << exponent;
}

/// value * 2^exponent.
inline mpq_class scaled(const mpq_class& value, int exponent) {
  if (exponent >= 0) return value * power_of_two(static_cast<unsigned>(exponent));
  return value / power_of_two(static_cast<unsigned>(-exponent));
}

inline mpq_class exact(double value) {
  return mpq_class(value);
}

/// The nearest integer, ties to even.
inline mpz_class nearest_integer(const mpq_class& value) {
  mpz_class floor;
  mpz_fdiv_q(floor.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  const mpq_class rest = value - floor;
  const int order = cmp(rest, mpq_class(1, 2));
  const bool odd = mpz_odd_p(floor.get_mpz_t()) != 0;
  return (order > 0 || (order == 0 && odd)) ? mpz_class(floor + 1) : floor;
}

/// Exponent e with |value| < 2^e, least; 0 for 0.
inline int exponent_of(const mpq_class& value) {
  if (value == 0) return 0;
  const mpz_class num = abs(value.get_num());
  int e =
      static_cast<int>(mpz_sizeinbase(num.get_mpz_t(), 2)) - static_cast<int>(mpz_sizeinbase(value.get_den_mpz_t(), 2));
  while (cmp(abs(value), scaled(1, e)) >= 0) ++e;
  while (cmp(abs(value), scaled(1, e - 1)) < 0) --e;
  return e;
}

/// The nearest binary64, ties to even; denormals included, no overflow expected.
inline double nearest_double(const mpq_class& value) {
  const int unit = std::max(exponent_of(value) - 53, -1074);
  return std::ldexp(nearest_integer(scaled(value, -unit)).get_d(), unit);
}

/// 2^64-words of `bits` random bits with a random sign.
inline mpz_class random_integer(std::mt19937_64& random, int bits) {
  mpz_class value = 0;
  for (int done = 0; done < bits; done += 32) value = (value << 32) + static_cast<unsigned long>(random() >> 32);
  mpz_fdiv_r_2exp(value.get_mpz_t(), value.get_mpz_t(), static_cast<mp_bitcnt_t>(bits));
  return (random() & 1) != 0 ? mpz_class(-value) : value;
}

/// |value| must be below 2^380.
inline WideInt to_wide(const mpz_class& value) {
  WideInt result;
  mpz_class rest = abs(value);
  for (int shift = 0; rest != 0; shift += 32) {
    const mpz_class low = rest & mpz_class(0xffffffffUL);
    result.add_shifted(static_cast<int64_t>(low.get_ui()), shift);
    rest >>= 32;
  }
  return value < 0 ? -result : result;
}

/// Any finite double: random mantissa, exponent in [low, high].
inline double random_double(std::mt19937_64& random, int low, int high) {
  const int exponent = low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
  const double mantissa = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
  return std::ldexp((random() & 1) != 0 ? mantissa : -mantissa, exponent);
}

}  // namespace manymeans::test
