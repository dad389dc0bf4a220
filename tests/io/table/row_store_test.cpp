#include "io/table/row_store.h"

#include "core/data_type.h"
#include "io/files.h"

#include <bit>
#include <cmath>

namespace manymeans::test {
namespace {

// The bits that a half or bfloat16 value is stored as, after a trip through binary64; all of them are exact.
void expect_all_bits(DataType type, float (*widen_bits)(uint16_t)) {
  RowStore store(1, 1, type, "test");
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = widen_bits(static_cast<uint16_t>(bits));
    ASSERT_EQ(store.store(0, &value), -1) << bits;
    const uint16_t stored = *static_cast<const uint16_t*>(store.view().data);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(widen_bits(stored)));
    } else {
      ASSERT_EQ(stored, bits);
      const double between = std::nextafter(value, 1e10);  // the largest binary64 for infinity
      ASSERT_EQ(store.store(0, &between), 0) << bits;
    }
  }
}

TEST(RowStore, EveryHalf) {
  expect_all_bits(DataType::kFloat16, half_to_float);
}
TEST(RowStore, EveryBFloat16) {
  expect_all_bits(DataType::kBFloat16, bfloat16_to_float);
}

TEST(RowStore, TooLargeForHalf) {
  RowStore store(1, 2, DataType::kFloat16, "test");
  const Values values{65504, 65536};
  EXPECT_EQ(store.store(0, values.data()), 1);
}

TEST(RowStore, Float32RoundsAndRefusesOverflow) {
  RowStore store(1, 3, DataType::kFloat32, "test");
  EXPECT_EQ(store.store(0, Values{0.1, -INFINITY, 3.4028235e38}.data()), -1);
  EXPECT_EQ(values_of(store.view()), (Values{0.1f, -INFINITY, 3.4028234663852886e38}));
  EXPECT_EQ(store.store(0, Values{0, 0, 3.4028236e38}.data()), 2);
}

TEST(RowStore, IntegersAreExactOrRefused) {
  RowStore store(1, 1, DataType::kInt8, "test");
  for (double value = -300; value <= 300; value += 0.5) {
    const bool fits = value >= -128 && value <= 127 && value == std::trunc(value);
    ASSERT_EQ(store.store(0, &value), fits ? -1 : 0) << value;
  }
  const double nan = std::nan("");
  EXPECT_EQ(store.store(0, &nan), 0);
}

TEST(RowStore, TooMuchMemory) {
  expect_error(ErrorCode::kUnavailable, {"test", "not enough memory"},
               [] { RowStore(int64_t{1} << 62, int64_t{1} << 40, DataType::kFloat32, "test"); });
}

}  // namespace
}  // namespace manymeans::test
