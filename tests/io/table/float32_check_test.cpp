// Which columns of numbers keep in float32 what tells them apart.
#include "io/table/float32_check.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

double number(const std::string& text) {
  double value = 0;
  fast_float::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool wide(const std::vector<std::string>& column) {
  Float32Check check(1);
  for (const std::string& text : column) check.add_text(0, number(text), text);
  return check.surely_wide() || check.wide();
}

TEST(Float32Check, DecimalsOfText) {
  EXPECT_EQ(decimals_of("1.50"), 2);
  EXPECT_EQ(decimals_of("-17"), 0);
  EXPECT_EQ(decimals_of("3e2"), -2);
  EXPECT_EQ(decimals_of("+1.25E-3"), 5);
  EXPECT_EQ(decimals_of("1.25e+1"), 1);
  EXPECT_EQ(decimals_of("1e999999"), -400);
}

TEST(Float32Check, ExactNumbersStay) {
  EXPECT_FALSE(wide({"0", "0.5", "16777216", "-3e10", "inf", "nan"}));
  EXPECT_FALSE(wide({"1023.9000244140625", "1023.8999633789062", "7"}));
}

TEST(Float32Check, TimesOfOneDayNeedFloat64) {
  EXPECT_TRUE(wide({"1700000000.123", "1700000060.123", "1700000120.123", "1700000180.123"}));
  EXPECT_TRUE(wide({"1700000000", "1700000060"}));
  // One outlier in the same binade or elsewhere, or many other days, change nothing.
  EXPECT_TRUE(wide({"1700000000.123", "1700000060.123", "1100000000", "0"}));
}

TEST(Float32Check, NumbersOfSixDigitsStay) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<std::string> column;
    const int decimals = static_cast<int>(random() % 30) - 10;
    for (int i = 0; i < 50; ++i) column.push_back(fmt::format("{}e{}", random() % 1000000, -decimals));
    EXPECT_FALSE(wide(column)) << decimals;
  }
  EXPECT_FALSE(wide({"999999", "999.998", "0.000123456", "-999.997e-20"}));
}

// What most files are decided by: nothing in a column of short numbers needs the full check.
TEST(Float32Check, ShortNumbers) {
  for (const std::string text : {"0", "-123456", "0.000123456", "1.5e-20", "123456e3", "nan", "inf"}) {
    EXPECT_TRUE(is_short_number(text, number(text))) << text;
  }
  for (const std::string text : {"1234567", "0.1234567", "1e39", "1e-50", "100000.5"}) {
    EXPECT_FALSE(is_short_number(text, number(text))) << text;
  }
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 500; ++repeat) {
    std::vector<std::string> column;
    for (int i = 0; i < 300; ++i) {
      const int decimals = static_cast<int>(random() % 12);
      const uint32_t digits = random() % (i % 2 == 0 ? 1000000U : 2000U);
      column.push_back(fmt::format("{}{}e{}", random() % 2 == 0 ? "-" : "", digits, -decimals));
      ASSERT_TRUE(is_short_number(column.back(), number(column.back())));
    }
    ASSERT_FALSE(wide(column));
  }
}

TEST(Float32Check, SevenDigitsMayNot) {
  EXPECT_TRUE(wide({"9999.990", "9999.991", "9999.992", "9999.993", "9999.994"}));
  EXPECT_FALSE(wide({"1000.001", "1000.002"}));  // steps of a thousandth, losses below a sixteenth of it
}

TEST(Float32Check, LongNumberThatStandsAlone) {
  EXPECT_FALSE(wide({"693375640", "0", "181", "5135678"}));  // the bytes of a connection in the KDD data
  EXPECT_TRUE(wide({"693375640", "693375641", "0"}));
  EXPECT_FALSE(wide({"1700000000.123", "1700000000.123"}));  // one value: nothing to tell apart
  // Alone between two powers of two, but next to what lies behind one of them.
  EXPECT_TRUE(wide({"33554431", "33554432"}));
}

TEST(Float32Check, TooLargeAndTooSmall) {
  EXPECT_TRUE(wide({"1e39"}));
  EXPECT_TRUE(wide({"1e-50", "0"}));
  EXPECT_TRUE(wide({"1e-50", "2e-50"}));
}

TEST(Float32Check, EqualRoundedAndWrittenOut) {
  EXPECT_TRUE(wide({"1023.9", "1023.9000244140625"}));  // float32(1023.9), to the last digit
}

TEST(Float32Check, TextOfFloat32) {
  std::mt19937 random(2);
  std::vector<std::string> floats, doubles;
  for (int i = 0; i < 1000; ++i) {
    floats.push_back(
        fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(0x3f000000U + random() % 0x800000U))));
    doubles.push_back(fmt::format("{}", 0.5 + static_cast<double>(random()) / 8589934592.0));
  }
  EXPECT_FALSE(wide(floats));
  EXPECT_TRUE(wide(doubles));
  floats.push_back("0.712345678901");
  EXPECT_TRUE(wide(floats));
  // Prices of eight digits: each is the text of a float32, but that is chance: the numbers end at cents.
  EXPECT_TRUE(wide({"123456.78", "123456.79", "123456.8", "123456.81"}));
}

TEST(Float32Check, IntegersOfFiles) {
  Float32Check check(2);
  for (const double value : {16777216.0, 16777217.0, 5.0}) check.add(0, value, 0);
  for (const double value : {16777216.0, 16777218.0, 5.0}) check.add(1, value, 0);
  EXPECT_TRUE(check.wide(0));
  EXPECT_FALSE(check.wide(1));
  EXPECT_TRUE(check.wide());
}

// The same answer however the rows are spread over threads: the promise that the type does not depend on them.
TEST(Float32Check, OrderAndThreadsChangeNothing) {
  std::mt19937 random(3);
  int wides = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<std::string> column;
    const int digits = 5 + static_cast<int>(random() % 4);
    for (int i = 0; i < 12; ++i) column.push_back(fmt::format("{:.{}g}", static_cast<double>(random()) * 1e-5, digits));
    const bool expected = wide(column);
    wides += expected ? 1 : 0;
    std::shuffle(column.begin(), column.end(), random);
    std::vector<Float32Check> parts(3, Float32Check(1));
    for (const std::string& text : column) parts[random() % 3].add_text(0, number(text), text);
    parts[0].merge(parts[2]);
    parts[0].merge(parts[1]);
    EXPECT_EQ(parts[0].surely_wide() || parts[0].wide(), expected);
  }
  EXPECT_GT(wides, 30);
  EXPECT_LT(wides, 270);
}

// What stays float32 keeps every difference to an eighth and merges nothing, by brute force over all pairs.
TEST(Float32Check, DifferencesSurvive) {
  std::mt19937 random(4);
  int stayed = 0;
  for (int repeat = 0; repeat < 3000; ++repeat) {
    std::vector<double> values;
    Float32Check check(1);
    const int decimals = static_cast<int>(random() % 6);
    const uint32_t low = random() % 100000000;
    for (int i = 0; i < 8; ++i) {
      const std::string text = fmt::format("{:.{}f}", (low + random() % 50) / std::pow(10.0, decimals), decimals);
      values.push_back(number(text));
      check.add_text(0, values.back(), text);
    }
    if (check.wide()) continue;
    ++stayed;
    for (const double a : values) {
      for (const double b : values) {
        const double kept = static_cast<double>(static_cast<float>(a)) - static_cast<double>(static_cast<float>(b));
        EXPECT_LE(std::fabs(kept - (a - b)), std::fabs(a - b) * 0.125 + 1e-9 * std::fabs(a - b)) << a << " " << b;
      }
    }
  }
  EXPECT_GT(stayed, 10);
}

}  // namespace
}  // namespace manymeans
