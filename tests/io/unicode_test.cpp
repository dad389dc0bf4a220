#include "io/unicode.h"

#include <gtest/gtest.h>

namespace manymeans::test {
namespace {

TEST(Unicode, RoundTrip) {
  const std::string text = "a\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(utf8_to_utf32(text), U"a\x7f \u00e9 \u20ac \U0001f600");
  EXPECT_EQ(utf32_to_utf8(utf8_to_utf32(text)), text);
}

TEST(Unicode, WrongBytesAreReplaced) {
  EXPECT_EQ(utf8_to_utf32("a\xe9z"), U"a\ufffdz");        // Latin-1
  EXPECT_EQ(utf8_to_utf32("\xc0\x80"), U"\ufffd\ufffd");  // too long a form
  EXPECT_EQ(utf8_to_utf32("\xed\xa0\x80"), U"\ufffd");    // half a pair
  EXPECT_EQ(utf8_to_utf32("\xe2\x82"), U"\ufffd\ufffd");  // cut off
  EXPECT_EQ(utf32_to_utf8(std::u32string(1, 0x110000)), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace manymeans::test
