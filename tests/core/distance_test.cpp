#include "core/distance.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::test {
namespace {

// The contract's text once more, by exact arithmetic rounded at every step.
double exact_steps(const std::vector<double>& x, const std::vector<double>& c) {
  mpq_class lanes[8];
  for (auto& lane : lanes) lane = 0;
  for (size_t j = 0; j < x.size(); ++j) {
    const mpq_class t = exact(nearest_double(exact(x[j]) - exact(c[j])));
    lanes[j % 8] = exact(nearest_double(t * t + lanes[j % 8]));
  }
  const auto add = [](const mpq_class& a, const mpq_class& b) { return exact(nearest_double(a + b)); };
  return nearest_double(add(add(lanes[0], lanes[4]), add(lanes[2], lanes[6])) +
                        add(add(lanes[1], lanes[5]), add(lanes[3], lanes[7])));
}

TEST(CanonicalDistance, HandValues) {
  const float x[] = {3, 0, 0};
  const float c[] = {0, 4, 0};
  EXPECT_EQ(canonical_distance(x, c, 3), 25);
  EXPECT_EQ(canonical_distance(x, x, 3), 0);
  const double far[] = {0x1p500};
  const double origin[] = {0};
  EXPECT_EQ(canonical_distance(far, origin, 1), 0x1p1000);
  const double tiny[] = {0x1p-537};
  EXPECT_EQ(canonical_distance(tiny, origin, 1), 0x1p-1074);
}

TEST(CanonicalDistance, SumsInEightLanesThatFoldInHalves) {
  // One large square and small ones: which of them meet first decides what survives the rounding.
  // 1 + 2^-53 rounds to 1; 2^-53 + 2^-53 first gives 2^-52, which survives.
  const double root = 0x1p-27, half = 0x1p-26 * 0.70710678118654757;
  for (size_t first = 0; first < 16; ++first) {
    for (size_t second = 0; second < 16; ++second) {
      std::vector<double> x(16, 0.0), c(16, 0.0);
      x[0] = 1;
      x[first] += root;
      x[second] += half;
      ASSERT_EQ(canonical_distance(x.data(), c.data(), 16), exact_steps(x, c)) << first << " " << second;
    }
  }
}

TEST(CanonicalDistance, EqualsExactStepsOnRandomRows) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    const auto d = 1 + random() % 40;
    std::vector<double> x, c;
    for (size_t j = 0; j < d; ++j) {
      x.push_back(random_double(random, -40, 40));
      c.push_back(random() % 5 == 0 ? x.back() : random_double(random, -40, 40));
    }
    ASSERT_EQ(canonical_distance(x.data(), c.data(), static_cast<int64_t>(d)), exact_steps(x, c));
  }
}

TEST(CanonicalDistance, PaddingWithZerosChangesNothing) {
  std::mt19937_64 random(8);
  for (int64_t d = 1; d < 40; ++d) {
    std::vector<float> x(64, 0.0f), c(64, 0.0f);
    for (size_t j = 0; j < static_cast<size_t>(d); ++j) {
      x[j] = static_cast<float>(random_double(random, -10, 10));
      c[j] = static_cast<float>(random_double(random, -10, 10));
    }
    const double expected = canonical_distance(x.data(), c.data(), d);
    for (int64_t padded = d; padded <= 64; ++padded) {
      ASSERT_EQ(canonical_distance(x.data(), c.data(), padded), expected) << d << " " << padded;
    }
  }
}

}  // namespace
}  // namespace manymeans::test
