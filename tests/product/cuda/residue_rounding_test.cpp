// Sums from their residues, against integers of any size and rational numbers. Needs no device.
#include "product/cuda/residue_rounding.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace manymeans::test {
namespace {

using cuda::ResidueBasis;
using Random = std::mt19937_64;

mpz_class from_limbs(const uint32_t (&limbs)[cuda::kMaxLimbs]) {
  mpz_class value = 0;
  for (int j = cuda::kMaxLimbs - 1; j >= 0; --j) value = (value << 32) + limbs[j];
  return value;
}

// A number of at most so many bits, of either sign; short ones, powers of two and their neighbours among them.
mpz_class draw_sum(Random& random, unsigned max_bits) {
  const auto bits = static_cast<unsigned>(random() % (max_bits + 1));
  mpz_class value = 0;
  for (int word = 0; word < 3; ++word) value = (value << 64) + mpz_class(std::to_string(random()));
  value %= power_of_two(bits);
  if (random() % 4 == 0) value = power_of_two(bits) - 1 + static_cast<long>(random() % 3);
  if (random() % 4 == 0) value = (value >> 60) << 60;  // ties
  if (value > power_of_two(max_bits)) value = power_of_two(max_bits);
  return random() % 2 == 0 ? value : mpz_class(-value);
}

template <class T, int kLimbs>
cuda::WindowedSum<T> sum_of_limbs(const mpz_class& value, const ResidueBasis& basis) {
  uint64_t parts[kLimbs] = {};
  for (int i = 0; i < basis.count; ++i) {
    mpz_class residue;
    mpz_fdiv_r_ui(residue.get_mpz_t(), value.get_mpz_t(), static_cast<unsigned long>(basis.moduli[i]));
    for (int j = 0; j < kLimbs; ++j) parts[j] += residue.get_ui() * basis.weights[i][j];
  }
  return cuda::windowed_sum<T>(parts, basis);
}

template <class T>
cuda::WindowedSum<T> sum_of_residues(const mpz_class& value, const ResidueBasis& basis) {
  if constexpr (sizeof(T) == 8) {
    return sum_of_limbs<T, 5>(value, basis);
  } else {
    return basis.limbs == 3 ? sum_of_limbs<T, 3>(value, basis) : sum_of_limbs<T, 4>(value, basis);
  }
}

template <class T>
T nearest(const mpq_class& value) {
  if (value == 0) return 0;
  const int unit = exponent_of(abs(value)) - std::numeric_limits<T>::digits;
  return static_cast<T>(std::ldexp(nearest_integer(scaled(value, -unit)).get_d(), unit));
}

template <class T>
class ResidueRounding : public ::testing::Test {
 protected:
  static constexpr bool kWide = sizeof(T) == 8;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ResidueRounding, Types);

TYPED_TEST(ResidueRounding, BasisHoldsAllSums) {
  for (const int64_t depth : {1, 2, 100, 4096, 8192, 65'536, 1 << 20, 1 << 30}) {
    const ResidueBasis basis = cuda::residue_basis(this->kWide, depth);
    const mpz_class product = from_limbs(basis.product);
    EXPECT_LE(mpz_class(depth) * power_of_two(2 * static_cast<unsigned>(basis.bits)) * 4, product) << depth;
    if (this->kWide) {
      EXPECT_EQ(basis.limbs, 5) << depth;
    } else {
      EXPECT_LE(basis.limbs, 4) << depth;
    }
    EXPECT_LE(basis.bits, this->kWide ? cuda::kMaxDoubleBits : cuda::kMaxFloatBits) << depth;
    EXPECT_GE(basis.bits, depth > 1 << 20 ? 36 : 40) << depth;
    EXPECT_EQ(basis.limbs <= 3, basis.count <= cuda::kFewModuli) << depth;
    const int below = 32 * (basis.limbs - 1) - 16;
    EXPECT_NEAR(std::ldexp(static_cast<double>(basis.inverse), -below) * product.get_d(), 1, 1e-6);
    for (int i = 0; i < basis.count; ++i) {
      const mpz_class weight = from_limbs(basis.weights[i]);
      EXPECT_LT(weight, product);
      for (int j = 0; j < basis.count; ++j) EXPECT_EQ(weight % basis.moduli[j], i == j ? 1 : 0) << depth;
    }
  }
}

TYPED_TEST(ResidueRounding, ExactSumsAreRoundedToNearest) {
  using T = TypeParam;
  Random random(1);
  for (const int64_t depth : {1, 1000, 1 << 20}) {
    const ResidueBasis basis = cuda::residue_basis(this->kWide, depth);
    const auto bits = static_cast<unsigned>(mpz_sizeinbase(from_limbs(basis.product).get_mpz_t(), 2)) - 3;
    for (int round = 0; round < 20'000; ++round) {
      const mpz_class value = draw_sum(random, bits);
      const int scale = static_cast<int>(random() % 60) - 80;
      T found = 1;
      ASSERT_TRUE(cuda::certify_sum(sum_of_residues<T>(value, basis), 0.0F, scale, found)) << value;
      const T expected = nearest<T>(scaled(value, scale));
      ASSERT_EQ(std::memcmp(&found, &expected, sizeof found), 0) << value << ": " << found << " for " << expected;
    }
  }
}

// What is proved is right for both ends of the interval, and what is far from every boundary is proved.
TYPED_TEST(ResidueRounding, ProvedEntriesAreThoseOfTheWholeInterval) {
  using T = TypeParam;
  Random random(2);
  const ResidueBasis basis = cuda::residue_basis(this->kWide, 1000);
  const auto bits = static_cast<unsigned>(mpz_sizeinbase(from_limbs(basis.product).get_mpz_t(), 2)) - 3;
  int proved = 0;
  for (int round = 0; round < 30'000; ++round) {
    const mpz_class value = draw_sum(random, bits);
    const float error =
        std::ldexp(1 + static_cast<float>(random() % 1000) / 1000, static_cast<int>(random() % 60) - 20);
    T found = 0;
    if (!cuda::certify_sum(sum_of_residues<T>(value, basis), error, -40, found)) continue;
    ++proved;
    ASSERT_EQ(found, nearest<T>(scaled(value - exact(error), -40))) << value << " +- " << error;
    ASSERT_EQ(found, nearest<T>(scaled(value + exact(error), -40))) << value << " +- " << error;
  }
  EXPECT_GT(proved, 5'000);
}

TYPED_TEST(ResidueRounding, WhatIsNoNormalNumberIsNotProved) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const ResidueBasis basis = cuda::residue_basis(this->kWide, 1);
  const cuda::WindowedSum<T> one = sum_of_residues<T>(1, basis), zero = sum_of_residues<T>(0, basis);
  T found = 0;
  EXPECT_TRUE(cuda::certify_sum(one, 0.0F, Limits::min_exponent - 1, found));
  EXPECT_EQ(found, Limits::min());
  EXPECT_FALSE(cuda::certify_sum(one, 0.0F, Limits::min_exponent - 2, found));
  EXPECT_TRUE(cuda::certify_sum(one, 0.0F, Limits::max_exponent - 1, found));
  EXPECT_FALSE(cuda::certify_sum(one, 0.0F, Limits::max_exponent, found));
  EXPECT_TRUE(cuda::certify_sum(zero, 0.0F, 0, found));
  EXPECT_FALSE(std::signbit(found));
  EXPECT_FALSE(cuda::certify_sum(zero, 0x1p-149F, 0, found));
  for (const float error : {HUGE_VALF, std::nanf(""), 1.0F}) EXPECT_FALSE(cuda::certify_sum(one, error, 0, found));
}

}  // namespace
}  // namespace manymeans::test
