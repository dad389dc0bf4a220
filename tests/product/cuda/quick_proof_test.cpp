// What float32 proves of an entry of a product, against exact distances. Needs no device.
#include "product/cuda/quick_proof.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace manymeans::cuda {
namespace {

// A float32 number's neighbour as binary64: beyond the largest one it is 2^128.
double neighbour(float value, float toward) {
  const float next = std::nextafterf(value, toward);
  return std::isinf(next) ? std::copysign(0x1p128, next) : next;
}

// From the nearer one of the points at which the entry would become another. Exact: the sum is near to both.
double room_of(double sum, float entry) {
  const double above = (entry + neighbour(entry, HUGE_VALF)) / 2, below = (entry + neighbour(entry, -HUGE_VALF)) / 2;
  return std::min(above - sum, sum - below);
}

// Of mantissas that are close to powers of two, to points midway, or anything.
double sum_of(std::mt19937_64& random, int exponent) {
  uint64_t mantissa = random() >> 12;
  switch (random() % 5) {
    case 0: mantissa = random() & 0x7fffffff; break;
    case 1: mantissa = ~(random() & 0x7fffffff) & 0xfffffffffffff; break;
    case 2: mantissa = (mantissa & ~uint64_t{0x1fffffff}) | (0x10000000 + random() % 4096 - 2048); break;
    case 3: mantissa = (random() & 3) << 29 | (random() & 0x1fffffff); break;
    default: break;
  }
  const double sum = std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -52), exponent);
  return random() % 2 == 0 ? sum : -sum;
}

double error_of(std::mt19937_64& random, double room, double sum) {
  switch (random() % 4) {
    case 0: return room * (1 + static_cast<double>(static_cast<int>(random() % 41) - 20) * 0x1p-24);
    case 1: return room * std::ldexp(1.0, static_cast<int>(random() % 8) - 4);
    case 2: return std::fabs(sum) * 0x1p-26 * (static_cast<double>(random() % 1000) / 500);
    default: return std::fabs(sum) * 0x1p-40 * static_cast<double>(random() % 100);
  }
}

TEST(QuickProof, WhatIsProvedIsTrue) {
  std::mt19937_64 random(1);
  int proved = 0, refused = 0;
  for (int round = 0; round < 1'000'000; ++round) {
    const int exponent = round % 3 == 0 ? static_cast<int>(random() % 277) - 149 : static_cast<int>(random() % 40) - 20;
    const double sum = sum_of(random, exponent);
    const auto nearest = static_cast<float>(sum);
    if (std::isinf(nearest)) continue;
    const double error = error_of(random, room_of(sum, nearest), sum);
    float entry = 0;
    const float bound = quick_bound(quick_factor(error, kQuickScale), 1);
    if (!proves_quickly(sum, bound, entry)) {
      ++refused;
      continue;
    }
    ++proved;
    ASSERT_EQ(entry, nearest);
    ASSERT_GT(room_of(sum, entry), error) << std::hexfloat << sum << " " << error;
  }
  EXPECT_GT(proved, 200'000);
  EXPECT_GT(refused, 200'000);
}

TEST(QuickProof, NearlyAllIsProvedWhereErrorsAreSmall) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  int refused = 0;
  for (int round = 0; round < 100'000; ++round) {
    const double sum = normal(random);
    float entry = 0;
    const double error = 0x1p-44;  // of numbers that are 2^-24 or so apart
    if (!proves_quickly(sum, quick_bound(quick_factor(error, kQuickScale), 1), entry)) ++refused;
  }
  EXPECT_LT(refused, 100);
}

TEST(QuickProof, NothingIsProvedAtTheEndsOfTheNumbers) {
  float entry = 0;
  EXPECT_FALSE(proves_quickly(0.0, 0, entry));
  EXPECT_FALSE(proves_quickly(0x1p-140, 0, entry));
  EXPECT_FALSE(proves_quickly(0x1p-126, 0, entry)) << "its lower neighbours are denormal";
  EXPECT_FALSE(proves_quickly(0x1p128, HUGE_VALF, entry));
  EXPECT_FALSE(proves_quickly(1, HUGE_VALF, entry));
  EXPECT_FALSE(proves_quickly(1 + 0x1p-24, 0, entry)) << "midway";
  EXPECT_TRUE(proves_quickly(1, 0, entry));
  EXPECT_EQ(quick_bound(quick_factor(0x1p120, 0x1p28), quick_factor(0x1p10, 0x1p28)), HUGE_VALF);
}

}  // namespace
}  // namespace manymeans::cuda
