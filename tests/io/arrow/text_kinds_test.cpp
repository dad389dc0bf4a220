// Types of the columns of a text that is written as Parquet or Arrow.
#include "io/arrow/text_kinds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace manymeans::test {
namespace {

// Of a column of these cells.
TextKind kind_of(const std::vector<std::string>& cells) {
  std::string text = "name\n";
  for (const std::string& cell : cells) text += cell + "\n";
  const TextLayout layout = find_layout(text, "table.csv", {.header = Header::kYes});
  return find_kinds(layout, 0)[0];
}

TEST(TextKinds, NumbersThatComeBack) {
  EXPECT_EQ(kind_of({"1", "-9223372036854775808", "NA", "9223372036854775807"}), TextKind::kInteger);
  EXPECT_EQ(kind_of({"18446744073709551615", "3"}), TextKind::kUnsigned);
  EXPECT_EQ(kind_of({"1.5", "2", "1e-05", "2e+20", "-1E-7", "inf"}), TextKind::kNumber);
  EXPECT_EQ(kind_of({"1.500000000000000000e+00", "0.1234567890123456789"}), TextKind::kNumber) << "printed with care";
  EXPECT_EQ(kind_of({"2.5", "1e3"}), TextKind::kNumber) << "by hand, beside numbers";
  EXPECT_EQ(kind_of({"2.5", "9007199254740992"}), TextKind::kNumber);
  EXPECT_EQ(kind_of({"100000000000000000000", "2"}), TextKind::kNumber) << "10^20 is a float64";
}

TEST(TextKinds, TextsThatNumbersWouldLose) {
  EXPECT_EQ(kind_of({"1e5", "2e7", "3e1"}), TextKind::kText);
  EXPECT_EQ(kind_of({"12", "2E7"}), TextKind::kText);
  EXPECT_EQ(kind_of({"18446744073709551616", "3"}), TextKind::kNumber) << "2^64";
  EXPECT_EQ(kind_of({"18446744073709551617", "3"}), TextKind::kText);
  EXPECT_EQ(kind_of({"18446744073709551615", "-3"}), TextKind::kText);
  EXPECT_EQ(kind_of({"9007199254740993", "0.5"}), TextKind::kText);
  EXPECT_EQ(kind_of({"007", "12"}), TextKind::kText);
  EXPECT_EQ(kind_of({"1e5", "\xff"}), TextKind::kBytes);
}

}  // namespace
}  // namespace manymeans::test
