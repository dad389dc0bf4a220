#include "core/data_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// A value by its definition: sign, exponent field, mantissa field.
double by_definition(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const uint32_t field = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (field == (1u << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (field == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1u << mantissa_bits), static_cast<int>(field) - bias - mantissa_bits);
}

void expect_same(float found, double expected, uint32_t bits) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(found)) << bits;
  } else {
    ASSERT_EQ(static_cast<double>(found), expected) << bits;
    ASSERT_EQ(std::signbit(found), std::signbit(expected)) << bits;
  }
}

TEST(HalfToFloat, IsExactForAllPatterns) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    expect_same(half_to_float(static_cast<uint16_t>(bits)), by_definition(bits, 5, 10), bits);
  }
}

TEST(BFloat16ToFloat, IsExactForAllPatterns) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    expect_same(bfloat16_to_float(static_cast<uint16_t>(bits)), by_definition(bits, 8, 7), bits);
  }
}

TEST(Widen, TakesEveryType) {
  const std::vector<float> f32 = {1.5f, -2.25f, 1e-40f};
  const std::vector<double> f64 = {1.5, -2.25, 1e-310};
  const std::vector<uint16_t> f16 = {0x3e00, 0xc080, 0x0001};
  const std::vector<uint16_t> bf16 = {0x3fc0, 0xc010, 0x0001};
  const std::vector<uint8_t> u8 = {0, 127, 255};
  const std::vector<int8_t> i8 = {-128, 0, 127};
  const auto widened = [](const void* data, DataType type) {
    std::vector<double> out(2);
    widen(data, type, 1, 2, out.data());
    return out;
  };
  EXPECT_EQ(widened(f32.data(), DataType::kFloat32), (std::vector<double>{-2.25, 1e-40f}));
  EXPECT_EQ(widened(f64.data(), DataType::kFloat64), (std::vector<double>{-2.25, 1e-310}));
  EXPECT_EQ(widened(f16.data(), DataType::kFloat16), (std::vector<double>{-2.25, 0x1p-24}));
  EXPECT_EQ(widened(bf16.data(), DataType::kBFloat16), (std::vector<double>{-2.25, 0x1p-133}));
  EXPECT_EQ(widened(u8.data(), DataType::kUInt8), (std::vector<double>{127, 255}));
  EXPECT_EQ(widened(i8.data(), DataType::kInt8), (std::vector<double>{0, 127}));
}

TEST(RowsAs, PointsIntoDataOfItsTypeAndCopiesOther) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const PointsView view(values.data(), 3, 2);
  std::vector<float> scratch(4);
  EXPECT_EQ(rows_as<float>(view, 1, 2, scratch.data()), values.data() + 2);
  std::vector<double> wide(4);
  EXPECT_EQ(rows_as<double>(view, 1, 2, wide.data()), wide.data());
  EXPECT_EQ(wide, (std::vector<double>{3, 4, 5, 6}));
}

TEST(DataType, NamesRoundTrip) {
  for (const char* name : {"float32", "float64", "float16", "bfloat16", "uint8", "int8"}) {
    const auto type = data_type_from_name(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(name_of(*type), name);
  }
  EXPECT_FALSE(data_type_from_name("int16").has_value());
}

}  // namespace
}  // namespace manymeans::test
