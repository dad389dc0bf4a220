#include "io/table/text_advice.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace manymeans::test {
namespace {

// The advice for a text in a column `x` with nine numbers, in the fifth row.
std::string advice(const std::string& text, char decimal = '.') {
  return advice_about({.text = text, .column = "x", .row = 5, .numbers = 9, .texts = 1, .decimal = decimal});
}

TEST(TextAdvice, Causes) {
  for (const auto& [text, part] :
       std::initializer_list<std::pair<const char*, const char*>>{{"x", "repeats the names"},
                                                                  {"\xef\xbb\xbfx", "repeats the names"},
                                                                  {"2\\x0d3", "tr -s"},
                                                                  {"1:5", "libsvm"},
                                                                  {"153:18", "libsvm"},
                                                                  {"7:-0.25", "libsvm"},
                                                                  {"NA", "fill gaps"},
                                                                  {"?", "sign for a gap"},
                                                                  {"-", "sign for a gap"},
                                                                  {".", "sign for a gap"},
                                                                  {"--", "sign for a gap"},
                                                                  {"\\N", "sign for a gap"},
                                                                  {"#DIV/0!", "sign for a gap"},
                                                                  {"#NAME?", "sign for a gap"},
                                                                  {"-1.#IND", "sign for a gap"},
                                                                  {"1.#QNAN", "sign for a gap"},
                                                                  {"n.d.", "sign for a gap"},
                                                                  {"12:30", "date"},
                                                                  {"2024-02-29", "date"},
                                                                  {"5;2", "semicolons are read with --decimal ,"},
                                                                  {"5\\x092", "--decimal ,"},
                                                                  {"5 2", "--decimal ,"},
                                                                  {"1|2", "'|' is none"},
                                                                  {"1,5", "--decimal ,"},
                                                                  {"Total", "looks like a total"},
                                                                  {"<0.1", "rewrite such fields"},
                                                                  {"1'234.5", "rewrite such fields"},
                                                                  {"1 234", "rewrite such fields"},
                                                                  {"(5)", "rewrite such fields"},
                                                                  {"oops", "most fields of this column are numbers"}}) {
    EXPECT_NE(advice(text).find(part), std::string::npos) << text << ": " << advice(text);
    EXPECT_EQ(advice(text).find("onehot"), std::string::npos) << text;
  }
  EXPECT_NE(advice("0.123", ',').find("only separates thousands"), std::string::npos);
  const OddText unit{.text = "cm", .column = "x", .row = 1, .numbers = 9, .texts = 1};
  EXPECT_NE(advice_about(unit).find("holds units"), std::string::npos);
}

// Texts among texts may be categories, whatever they look like.
TEST(TextAdvice, Categories) {
  for (const char* text : {"?", "-", "Paris", "mean", "1st", "oops"}) {
    EXPECT_EQ(advice_about({.text = text, .column = "y", .row = 1, .numbers = 0, .texts = 10}), "") << text;
  }
}

TEST(TextAdvice, AlmostNumbers) {
  for (const char* text : {"<0.1", ">5",
                           "\xe2\x88\x92"
                           "5.1",
                           "5%", "5 %", "1_000", "1D+03", "1d3", "(5)", "5-", "1'234.5", "1 234,5",
                           "1\xc2\xa0"
                           "234,5",
                           "\xe2\x89\xa4"
                           "3",
                           "$12.50", "20 cm", "5\xc2\xb0",
                           "1e\xe2\x88\x92"
                           "3"}) {
    EXPECT_TRUE(is_almost_number(text)) << text;
  }
  for (const char* text : {"", "x1", "col 5", "2024-01-02", "10.0.0.1", "12:30", "?", "%", "1,5", "2019Q1", "5-10",
                           "a5b", "5 centimetres"}) {
    EXPECT_FALSE(is_almost_number(text)) << text;
  }
}

}  // namespace
}  // namespace manymeans::test
