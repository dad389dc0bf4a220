#include "core/wide_int.h"

#include "core/exact_numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace manymeans::test {
namespace {

TEST(WideInt, AddsNegatesComparesAndMultipliesAsGmpDoes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const mpz_class a = random_integer(random, 1 + static_cast<int>(random() % 370));
    const mpz_class b = random_integer(random, 1 + static_cast<int>(random() % 370));
    const uint64_t factor = random() >> (random() % 64);
    WideInt sum = to_wide(a);
    sum += to_wide(b);
    ASSERT_EQ(sum, to_wide(a + b));
    ASSERT_EQ(to_wide(a) - to_wide(b), to_wide(a - b));
    ASSERT_EQ(-to_wide(a), to_wide(-a));
    ASSERT_EQ(to_wide(a) < to_wide(b), a < b);
    ASSERT_EQ(to_wide(a) > to_wide(b), a > b);
    ASSERT_EQ(to_wide(a).negative(), a < 0);
    ASSERT_EQ(to_wide(a).is_zero(), a == 0);
    const mpz_class small = a >> 64;  // keeps the product in range
    ASSERT_EQ(to_wide(small).times(factor), to_wide(small * mpz_class(static_cast<unsigned long>(factor))));
    ASSERT_EQ(to_wide(small).shift_left_64(), to_wide(small << 64));
    mpz_class floor;
    mpz_fdiv_q_2exp(floor.get_mpz_t(), a.get_mpz_t(), 64);
    ASSERT_EQ(to_wide(a).shift_right_64(), to_wide(floor));
  }
}

TEST(WideInt, AddShiftedTakesEverySign) {
  EXPECT_TRUE(rc::check("value * 2^shift is added", [](int64_t start, int64_t value) {
    const int shift = *rc::gen::inRange(0, 300);
    WideInt sum(start);
    sum.add_shifted(value, shift);
    const mpz_class shifted = mpz_class(static_cast<long>(value)) << static_cast<unsigned>(shift);
    RC_ASSERT(sum == to_wide(shifted + static_cast<long>(start)));
  }));
}

TEST(WideInt, RoundsToTheNearestDoubleTiesToEven) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20000; ++round) {
    mpz_class a = random_integer(random, 1 + static_cast<int>(random() % 370));
    ASSERT_EQ(to_wide(a).to_double(), nearest_double(a)) << a.get_str(2);
  }
  // Ties and their neighbours: 53 or 54 bits, then a half, then at most one bit far below.
  for (unsigned shift = 1; shift < 300; ++shift) {
    for (int step = 0; step < 8; ++step) {
      const mpz_class mantissa = (power_of_two(52) + static_cast<unsigned long>(random() % 4)) * 2 + step % 2;
      const mpz_class value = (mantissa << shift) + ((step / 2) - 1);
      ASSERT_EQ(to_wide(value).to_double(), nearest_double(value)) << value.get_str(2);
      ASSERT_EQ(to_wide(-value).to_double(), -nearest_double(value));
    }
  }
  EXPECT_EQ(WideInt().to_double(), 0.0);
  EXPECT_EQ(WideInt(INT64_MIN).to_double(), -0x1p63);
}

}  // namespace
}  // namespace manymeans::test
