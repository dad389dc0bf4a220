#include "io/table/text_fields.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <utility>

namespace manymeans::test {
namespace {

std::vector<std::string> split(std::string_view line, char delimiter) {
  std::vector<std::string> result;
  for (const Field& field : split_line(trim_line(line, delimiter), delimiter)) result.emplace_back(field.text);
  return result;
}
using Texts = std::vector<std::string>;

TEST(TextFields, Split) {
  EXPECT_EQ(split("1,2", ','), (Texts{"1", "2"}));
  EXPECT_EQ(split(" 1 ,\t2\t\r", ','), (Texts{"1", "2"}));
  EXPECT_EQ(split("1,,", ','), (Texts{"1", "", ""}));
  EXPECT_EQ(split("\t1\t", '\t'), (Texts{"", "1", ""}));
  EXPECT_EQ(split("  1 \t 2  ", kBlanks), (Texts{"1", "2"}));
  EXPECT_EQ(split("\"a b\" \"c\"", kBlanks), (Texts{"a b", "c"}));
  EXPECT_EQ(split("\"a,b\" , \"c\"\"d\",\"\"", ','), (Texts{"a,b", "c\"\"d", ""}));
  EXPECT_EQ(split("\"a\"b,c", ','), (Texts{"\"a\"b", "c"})) << "text behind the closing quote";
  EXPECT_EQ(split("\"a,b", ','), (Texts{"\"a", "b"})) << "no closing quote";
  EXPECT_TRUE(split_line("1,\"a,b", ',')[1].open);
  for (const char* line : {"\"a\"b,c", "a\"b,c", "\"a,b\",c"}) {
    for (const Field& field : split_line(line, ',')) EXPECT_FALSE(field.open) << line;
  }
  EXPECT_EQ(split("", ','), Texts{});
}

TEST(TextFields, Numbers) {
  double value = 0;
  EXPECT_EQ(parse_number("+1.5e3", value), NumberKind::kNumber);
  EXPECT_EQ(value, 1500);
  EXPECT_EQ(parse_number("-.5", value), NumberKind::kNumber);
  EXPECT_EQ(parse_number("4.9e-324", value), NumberKind::kNumber);
  EXPECT_EQ(value, 4.9406564584124654e-324);
  EXPECT_EQ(parse_number("1e-400", value), NumberKind::kNumber);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(parse_number("-Infinity", value), NumberKind::kNumber);
  EXPECT_EQ(value, -INFINITY);
  for (const char* text : {"true", "True", "TRUE"}) {
    EXPECT_EQ(parse_number(text, value), NumberKind::kNumber) << text;
    EXPECT_EQ(value, 1) << text;
  }
  for (const char* text : {"false", "False", "FALSE"}) {
    EXPECT_EQ(parse_number(text, value), NumberKind::kNumber) << text;
    EXPECT_EQ(value, 0) << text;
  }
  for (const char* text : {"+true", "-false", "t", "yes", "truer", "tru"}) {
    EXPECT_EQ(parse_number(text, value), NumberKind::kText) << text;
  }
  EXPECT_EQ(parse_number("", value), NumberKind::kEmpty);
  EXPECT_EQ(parse_number("1e309", value), NumberKind::kOverflow);
  EXPECT_EQ(parse_number("-1.8e308", value), NumberKind::kOverflow);
  for (const char* text : {"+", "-", "+-1", "++1", "1,5", "1.5.2", "0x1p3", "1e", "e5", "1 2", "infinit", "NA", "?"}) {
    EXPECT_EQ(parse_number(text, value), NumberKind::kText) << text;
  }
}

TEST(TextFields, DecimalCommas) {
  double value = 0;
  std::string digits;
  const auto parse = [&](std::string_view text) { return parse_number(text, ',', value, digits); };
  for (const auto& [text, number] : std::initializer_list<std::pair<const char*, double>>{{"1,5", 1.5},
                                                                                          {"1.234,5", 1234.5},
                                                                                          {"-12.345.678", -12345678},
                                                                                          {",5", 0.5},
                                                                                          {"7", 7},
                                                                                          {"1,5e-3", 0.0015},
                                                                                          {"1.000e2", 100000}}) {
    EXPECT_EQ(parse(text), NumberKind::kNumber) << text;
    EXPECT_EQ(value, number) << text;
  }
  for (const char* text : {"3.14", "1.23,5", "1,2,3", "1,234.5", "1234.567", ".5", "1.", "1.234.56", "1..234", "0.123",
                           "-0.123", "00.123.456"}) {
    EXPECT_EQ(parse(text), NumberKind::kText) << text;
  }
  EXPECT_EQ(parse(""), NumberKind::kEmpty);
  EXPECT_EQ(parse_number("3.14", '.', value, digits), NumberKind::kNumber);
}

TEST(TextFields, GapsAndDates) {
  for (const char* text : {"", "NA", "n/a", "NaN", "null", "NULL", "None", "#N/A", "<NA>"})
    EXPECT_TRUE(is_gap(text)) << text;
  for (const char* text : {"0", "Nancy", "nil", "-", "?", "nulls"}) EXPECT_FALSE(is_gap(text)) << text;
  for (const char* text :
       {"2024-02-29", "29.02.2024", "2/29/24", "12:30", "2024-02-29T12:30:00Z", "2024-02-29 12:30"}) {
    EXPECT_TRUE(looks_like_date(text)) << text;
  }
  for (const char* text : {"Paris", "10.0.0.1", "1.2", "A-1-2-3", "2024-02", "-", "", "1:5", "12:345"})
    EXPECT_FALSE(looks_like_date(text)) << text;
}

TEST(TextFields, Shown) {
  EXPECT_EQ(shown("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(shown(std::string_view("a\0\n", 3)), "a\\x00\\x0a");
  EXPECT_EQ(shown(std::string(50, 'x')), std::string(40, 'x') + "...");
}

TEST(TextFields, OrderOfDates) {
  const std::vector<std::vector<const char*>> rising = {
      {"0999-12-31", "2023-12-31", "2024-02-29", "2024-02-29 00:00:01", "2024-02-29T12:30", "2024-03-01 00:00:00.000"},
      {"2024-02-29T12:30:00.25Z", "2024-02-29T12:30:00.5Z", "2024-02-29T12:30:01+02:00"},
      {"31.12.2023 23:59", "1.1.2024", "29.02.2024", "1.3.2024"},
      {"12/31/23", "1/2/24", "2/29/24", "12/1/24"},
      {"31/12/2023", "13/1/2024"},
      {"0:01", "09:05:59", "9:06", "12:30", "23:59"},
  };
  for (const auto& dates : rising) {
    for (size_t i = 1; i < dates.size(); ++i) {
      ASSERT_TRUE(date_order(dates[i - 1]) && date_order(dates[i])) << dates[i];
      EXPECT_LT(*date_order(dates[i - 1]), *date_order(dates[i])) << dates[i];
    }
  }
  for (const char* text : {"", "2024", "10.0.0.1", "soon", "1-2"}) EXPECT_FALSE(date_order(text)) << text;
  EXPECT_TRUE(date_order(std::string(30, '9') + "-1-1")) << "of any size";
}

}  // namespace
}  // namespace manymeans::test
