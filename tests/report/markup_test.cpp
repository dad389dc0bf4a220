// Text that comes from files, made fit for HTML.
#include "report/markup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace manymeans::report {
namespace {

TEST(Markup, EscapesWhatMeansSomething) {
  EXPECT_EQ(escaped("<script>alert(\"1\" & '2')</script>"),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
  EXPECT_EQ(escaped("\xE5\x90\x8D\xE5\x89\x8D \xF0\x9F\x98\x80"), "\xE5\x90\x8D\xE5\x89\x8D \xF0\x9F\x98\x80");
}

TEST(Markup, ReplacesWhatIsNoText) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped("a\x01\x7F\nb"), "a" + bad + bad + bad + "b");
  EXPECT_EQ(escaped("\xFF"), bad);
  EXPECT_EQ(escaped("\xC0\xAF"), bad + bad);            // "/", too long
  EXPECT_EQ(escaped("\xED\xA0\x80"), bad + bad + bad);  // half of a pair
  EXPECT_EQ(escaped("\xE2\x80\xAE"
                    "abc"),
            bad + "abc");                            // turns the direction
  EXPECT_EQ(escaped("a\xE5\x90"), "a" + bad + bad);  // cut off
}

TEST(Markup, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abcde\xE2\x80\xA6");
  EXPECT_EQ(shortened("\xE5\x90\x8D\xE5\x89\x8D\xE5\x90\x8D", 2), "\xE5\x90\x8D\xE2\x80\xA6");
  EXPECT_EQ(shortened("", 3), "");
}

TEST(Markup, ShortenedNamesDiffer) {
  const std::string dots = "\xE2\x80\xA6";
  using Names = std::vector<std::string>;
  EXPECT_EQ(shortened_apart({"age", "mean income of 2019", "mean income of 2020"}, 12),
            (Names{"age", dots + "ome of 2019", dots + "ome of 2020"}));
  EXPECT_EQ(shortened_apart({"the same again", "the same again"}, 12),
            (Names{"the sa" + dots + " #1", "the sa" + dots + " #2"}));
}

TEST(Markup, WritesFewCharactersInACell) {
  EXPECT_EQ(brief(51.24), "51.2");
  EXPECT_EQ(brief(51210.4), "51210");
  EXPECT_EQ(brief(1234567890), "1.2e9");
  EXPECT_EQ(brief(-0.000123), "-1.2e-4");
  EXPECT_EQ(value_text(6e-9, 1, 6), "0");
  EXPECT_EQ(value_text(6e-9, 0, 6), "6e-09");
}

TEST(Markup, WritesNumbersAsPeopleReadThem) {
  EXPECT_EQ(px(12.04), "12");
  EXPECT_EQ(px(-0.04), "0");
  EXPECT_EQ(px(3.26), "3.3");
  EXPECT_EQ(counted(1234567), "1,234,567");
  EXPECT_EQ(counted(-1234), "-1,234");
  EXPECT_EQ(counted(-123), "-123");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(shown(862766.4), "862766");
  EXPECT_EQ(shown(0.123456), "0.1235");
  EXPECT_EQ(shown(std::nan("")), "-");
}

}  // namespace
}  // namespace manymeans::report
