#include "core/moments.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

double centre_of(double minimum, double maximum) {
  return MomentFormats::make(limb_bits(100), minimum, maximum).centre;
}

TEST(MomentFormats, CentreIsTheMidrangeRoundedOnce) {
  EXPECT_EQ(centre_of(-3, 8), 2.5);
  EXPECT_EQ(centre_of(-0x1p500, 0x1p500), 0);
  EXPECT_EQ(centre_of(0x1.fffffp499, 0x1p500), 0x1.fffff8p499);
  EXPECT_EQ(centre_of(0x1p53, 0x1p53 + 2), 0x1p53) << "the tie goes to the even one";
  EXPECT_EQ(centre_of(0x1p-1074, 0x1p-1074), 0x1p-1074) << "halves of denormals would be 0";
  EXPECT_EQ(centre_of(0x1p-1074, 0x3p-1074), 0x1p-1073);
  EXPECT_EQ(centre_of(0x3p-1074, 0x4p-1074), 0x4p-1074);
}

TEST(MomentFormats, ZeroCentreHasNoSign) {
  for (const double minimum : {-0x1p-1074, -0.0, 0.0}) {
    for (const double maximum : {-0.0, 0.0, 0x1p-1074}) {
      EXPECT_FALSE(std::signbit(centre_of(minimum, maximum))) << minimum << " " << maximum;
    }
  }
}

TEST(MomentFormats, CentreLiesInTheColumn) {
  std::mt19937_64 random(51);
  for (int i = 0; i < 20000; ++i) {
    const double one = std::bit_cast<double>(random()),
                 other = i % 2 == 0 ? std::bit_cast<double>(random()) : std::nextafter(one, 0);
    if (!(std::fabs(one) <= 0x1p500) || !(std::fabs(other) <= 0x1p500)) continue;
    const auto [low, high] = std::minmax(one, other);
    const double centre = centre_of(low, high);
    EXPECT_GE(centre, low);
    EXPECT_LE(centre, high);
  }
}

// Values as float32 points have them.
void check_moments(double offset, double spread, int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x;
  for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(offset + spread * normal(random)));
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const MomentFormats formats = MomentFormats::make(limb_bits(n), *low, *high);
  const MomentAdder adder(formats);
  MomentSums halves[2];
  mpq_class s = 0, q = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    adder.add(x[i], halves[i % 2]);
    s += exact(x[i]);
    q += exact(x[i]) * exact(x[i]);
  }
  halves[0].merge(halves[1]);
  const Moments found = moments(halves[0], formats, n);
  const mpq_class count(static_cast<long>(n));
  const mpq_class mean = s / count;
  const mpq_class variance = q / count - mean * mean;
  EXPECT_LE(abs(exact(found.mean) - mean), scaled(abs(mean), -53) + mpq_class(1e-15 * spread)) << offset;
  EXPECT_LE(abs(exact(found.variance) - variance), variance * mpq_class(1e-14)) << offset << " " << spread;
}

TEST(Moments, AgreeWithExactRationals) {
  uint64_t seed = 5;
  for (const double offset : {0.0, 1e3, 1e5, 1e7, -1e7}) {
    for (const double spread : {1.0, 10.0, 1e5}) {
      for (const int64_t n : {2, 7, 1000, 4097}) check_moments(offset, spread, n, seed++);
    }
  }
  check_moments(1e-20, 1e-22, 100, seed++);
  check_moments(1e18, 1e16, 100, seed++);
}

TEST(Moments, ConstantColumnsHaveNoVariance) {
  check_moments(12345.678, 0, 1000, 6);
  check_moments(0, 0, 10, 6);
}

}  // namespace
}  // namespace manymeans::test
