#include "core/fixed_point.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::test {
namespace {

// RNE(v * 2^s) by exact arithmetic.
mpz_class exact_term(double v, const SumFormat& format) {
  return nearest_integer(scaled(exact(v), format.shift));
}

TEST(SumFormat, SumsEqualTheExactSumsOfRoundedTerms) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 600; ++round) {
    const auto n = static_cast<int64_t>(1 + random() % 200);
    const int limbs = 1 + static_cast<int>(random() % kMaxLimbs);
    const int centre = static_cast<int>(random() % 1400) - 900;
    const int width = static_cast<int>(random() % 300);
    std::vector<double> terms;
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      terms.push_back(random() % 17 == 0 ? 0.0 : random_double(random, std::max(centre - width, -1022), centre));
      largest = std::max(largest, std::fabs(terms.back()));
    }
    const SumFormat format = SumFormat::make(limb_bits(n), limbs, largest);
    std::vector<int64_t> sums(static_cast<size_t>(limbs));
    mpz_class expected = 0;
    for (const double v : terms) {
      add_term(v, format, 1, sums.data());
      expected += exact_term(v, format);
    }
    ASSERT_EQ(recombine(sums.data(), format), to_wide(expected)) << "limbs " << limbs << " n " << n;
    ASSERT_EQ(rounded_sum(sums.data(), format), nearest_double(expected));
    for (auto v = terms.rbegin(); v != terms.rend(); ++v) add_term(*v, format, -1, sums.data());
    ASSERT_EQ(sums, std::vector<int64_t>(static_cast<size_t>(limbs))) << "subtracting must undo";
  }
}

TEST(SumFormat, ThinStatisticsKeepTheirLimbsApart) {
  std::vector<int64_t> sums(3 * 5);
  const SumFormat format = SumFormat::make(limb_bits(100), 3, 1e5);
  int64_t limbs[3] = {};
  add_term(-12345.678e-3, format, 1, limbs);
  for (int g = 0; g < 3; ++g) sums[static_cast<size_t>(g * 5 + 2)] = limbs[g];
  EXPECT_EQ(recombine(sums.data() + 2, format, 5), recombine(limbs, format));
  EXPECT_EQ(std::ldexp(rounded_sum(sums.data() + 2, format, 5), -format.shift), -12345.678e-3);
}

// N equal terms of the largest magnitude that a format allows, by multiplication instead of addition.
TEST(SumFormat, NoLimbOverflowsAtTheLimits) {
  for (const int64_t n :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{1} << 20, (int64_t{1} << 31) + 1, int64_t{1} << 40}) {
    for (int limbs = 1; limbs <= kMaxLimbs; ++limbs) {
      for (const double v : {std::nextafter(1.0, 0.0), 0.5, -std::nextafter(1.0, 0.0), 0x1.fffffffffffffp-60}) {
        const SumFormat format = SumFormat::make(limb_bits(n), limbs, 1 - 0x1p-53);
        int64_t parts[kMaxLimbs] = {};
        add_term(v, format, 1, parts);
        for (int g = 0; g < limbs; ++g) {
          int64_t total = 0;
          ASSERT_FALSE(__builtin_mul_overflow(parts[g], n, &total)) << "n " << n << " limb " << g;
        }
      }
    }
  }
}

// A lower limb may hold 2^b after rounding at most; every lower limb at 2^b - 1 is the worst of all terms.
TEST(SumFormat, LowerLimbsFullOfOnesStayInRange) {
  for (const int64_t n : {int64_t{2}, int64_t{1} << 16, int64_t{1} << 33}) {
    const int bits = limb_bits(n);
    ASSERT_GE(bits, 20);
    const SumFormat format{bits, 2, 2 * bits - 2};
    const double v = std::ldexp(std::floor(std::ldexp(1.0, 53)) - 1, -53);  // 53 ones
    int64_t parts[2] = {};
    add_term(v, format, 1, parts);
    EXPECT_LE(parts[0], int64_t{1} << bits);
    int64_t total = 0;
    EXPECT_FALSE(__builtin_mul_overflow(parts[0], n, &total));
    EXPECT_FALSE(__builtin_mul_overflow(int64_t{1} << bits, n, &total));
  }
}

TEST(SumFormat, RoundsTiesToEvenInTheLastLimb) {
  const SumFormat format{20, 2, 0};
  const auto term = [&](double v) {
    int64_t limbs[2] = {};
    add_term(v, format, 1, limbs);
    return recombine(limbs, format).to_double();
  };
  EXPECT_EQ(term(0.5), 0);
  EXPECT_EQ(term(1.5), 2);
  EXPECT_EQ(term(2.5), 2);
  EXPECT_EQ(term(-2.5), -2);
  EXPECT_EQ(term(1048575.5), 1048576);  // carries out of the limb: it holds 2^20
  EXPECT_EQ(term(-1048576.5), -1048576);
}

TEST(LimbsNeeded, IsTheLeastExactNumber) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 4000; ++round) {
    const int bits = 20 + static_cast<int>(random() % 42);
    const double high = std::fabs(random_double(random, -60, 60));
    const double low = std::fabs(random_double(random, -200, 60));
    const int lowest = std::min(lowest_bit(high), lowest_bit(low));
    const double largest = std::max(high, low);
    int expected = 1;
    while (expected < kMaxLimbs) {
      const SumFormat format = SumFormat::make(bits, expected, largest);
      if (scaled(exact(high), format.shift).get_den() == 1 && scaled(exact(low), format.shift).get_den() == 1) break;
      ++expected;
    }
    ASSERT_EQ(limbs_needed(bits, largest, lowest, kMaxLimbs), expected) << high << " " << low << " bits " << bits;
  }
  EXPECT_EQ(limbs_needed(40, 0, 0, 4), 1);
  EXPECT_EQ(limbs_needed(40, 0x1p1000, -1074, 4), 4);
}

TEST(LowestBit, IsThatOfTheOddPart) {
  EXPECT_EQ(lowest_bit(1.0), 0);
  EXPECT_EQ(lowest_bit(-3.0), 0);
  EXPECT_EQ(lowest_bit(0.75), -2);
  EXPECT_EQ(lowest_bit(0x1p-1074), -1074);
  EXPECT_EQ(lowest_bit(1 + 0x1p-52), -52);
  EXPECT_EQ(lowest_bit(0x1p1023), 1023);
}

TEST(Exponent, IsThatOfFrexp) {
  EXPECT_EQ(exponent(0.0), 0);
  EXPECT_EQ(exponent(1.0), 1);
  EXPECT_EQ(exponent(-0.5), 0);
  EXPECT_EQ(exponent(0x1p-1074), -1073);
}

TEST(LimbBits, LeaveRoomForAllRows) {
  EXPECT_EQ(limb_bits(1), 62);
  EXPECT_EQ(limb_bits(2), 61);
  EXPECT_EQ(limb_bits(3), 60);
  EXPECT_EQ(limb_bits(1024), 52);
  EXPECT_EQ(limb_bits(1025), 51);
}

}  // namespace
}  // namespace manymeans::test
