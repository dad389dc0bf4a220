#include "io/numpy/unicode.h"

#include <gtest/gtest.h>

namespace manymeans::test {
namespace {

TEST(Unicode, RoundTrip) {
  const std::string text = "a\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(utf8_to_utf32(text), U"a\x7f \u00e9 \u20ac \U0001f600");
  EXPECT_EQ(utf32_to_utf8(utf8_to_utf32(text)), text);
}

// As Python's "surrogateescape" has it, and back to the same bytes.
TEST(Unicode, WrongBytesComeBackAsTheyWere) {
  const auto escaped = [](std::string_view bytes) {
    std::u32string result;
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      result += byte < 0x80 ? char32_t{byte} : char32_t{0xdc00} + byte;
    }
    return result;
  };
  for (const std::string_view bytes : {"a\xe9z",                   // Latin-1
                                       "\xc0\x80",                 // too long a form
                                       "\xed\xa0\x80",             // half a pair
                                       "\xed\xb3\xa9",             // what stands for a byte itself
                                       "\xe2\x82", "\xf4\xff"}) {  // cut off
    EXPECT_EQ(utf8_to_utf32(bytes), escaped(bytes)) << bytes;
    EXPECT_EQ(utf32_to_utf8(utf8_to_utf32(bytes)), bytes);
  }
  std::string all;
  for (int i = 0; i < 65536; ++i) all += {static_cast<char>(i >> 8), static_cast<char>(i), 'x'};
  EXPECT_TRUE(utf32_to_utf8(utf8_to_utf32(all)) == all);
}

TEST(Unicode, WhatIsNoCharacterIsReplaced) {
  EXPECT_EQ(utf32_to_utf8(std::u32string(1, 0xd800)), "\xef\xbf\xbd");
  EXPECT_EQ(utf32_to_utf8(std::u32string(1, 0x110000)), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace manymeans::test
