#include "io/files.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace manymeans::test {
namespace {

// Long enough for several pieces, with lines of very different lengths.
std::string long_text(int rows) {
  std::mt19937 random(7);
  std::string text = "x,name,y\n";
  for (int i = 0; i < rows; ++i) {
    text += fmt::format("{},{},{:.{}g}\n", static_cast<int>(random() % 10), std::string(random() % 40, 'n') + "m",
                        static_cast<double>(random()) / 977.0, 1 + static_cast<int>(random() % 17));
  }
  return text;
}

TEST(TextParse, IndependentOfThreads) {
  const Folder folder;
  const std::string path = folder.file("long.csv", long_text(60000));
  ReadOptions options;
  options.numeric_only = true;
  options.threads = 1;
  const Dataset one = read_points(path, options);
  ASSERT_EQ(one.view.n, 60000);
  for (const int threads : {2, 3, 7}) {
    options.threads = threads;
    const Dataset many = read_points(path, options);
    ASSERT_EQ(many.view.bytes(), one.view.bytes());
    EXPECT_EQ(std::memcmp(many.view.data, one.view.data, one.view.bytes()), 0) << threads;
    EXPECT_EQ(many.warnings, one.warnings);
  }
}

TEST(TextParse, FirstProblemIsReportedForAnyThreads) {
  const Folder folder;
  std::string text = long_text(60000);
  text += "bad,line\n";
  for (int i = 0; i < 60000; ++i) text += i % 1000 == 0 ? "1,2\n" : "1,n,3\n";
  const std::string path = folder.file("long.csv", text);
  ReadOptions options;
  options.columns = {"x", "y"};
  for (const int threads : {1, 2, 7}) {
    options.threads = threads;
    for (int repeat = 0; repeat < 5; ++repeat) {
      expect_error(ErrorCode::kBadData, {"line 60002 has 2 fields", "have 3"}, [&] { read_points(path, options); });
    }
  }
}

TEST(TextParse, RowsAcrossPieces) {
  const Folder folder;
  // Lines much longer than a piece, and line ends exactly at and around the piece's end.
  for (const size_t padding : {(size_t{1} << 19) - 3, (size_t{1} << 19) - 2, (size_t{1} << 19) - 1, size_t{1} << 20}) {
    const std::string text = "1 " + std::string(padding, ' ') + "\n2\n3 " + std::string(padding, ' ') + "\n4";
    EXPECT_EQ(values_of(read_points(folder.file("rows.txt", text)).view), (Values{1, 2, 3, 4})) << padding;
  }
}

TEST(TextParse, ManyDigits) {
  const Folder folder;
  const std::string digits =
      "0." + std::string(100000, '3') + "\n" + std::string(100000, '0') + "5\n1" + std::string(300, '0') + "e-300\n";
  ReadOptions options;
  options.dtype = DataType::kFloat64;
  EXPECT_EQ(values_of(read_points(folder.file("digits.txt", digits), options).view), (Values{1.0 / 3, 5, 1}));
  expect_error(ErrorCode::kBadData, {"line 1", "too large", "..."},
               [&] { read_points(folder.file("digits.txt", std::string(100000, '9') + "\n1\n"), options); });
}

std::string printed(double value, int style) {
  switch (style % 5) {
    case 0: return fmt::format("{}", value);
    case 1: return fmt::format("{:.17g}", value);
    case 2: return fmt::format("{:+.25e}", value);
    case 3: return fmt::format("\"{:.3e}\"", value);
    default: return fmt::format("{:.60f}", value);
  }
}

double without_quotes(std::string text) {
  std::erase(text, '"');
  return std::strtod(text.c_str(), nullptr);
}

TEST(TextParse, NumbersAreCorrectlyRounded) {
  const Folder folder;
  const bool ok = rc::check("text -> binary64 -> float32, each the nearest", [&] {
    const auto bits = *rc::gen::container<std::vector<uint64_t>>(200, rc::gen::arbitrary<uint64_t>());
    const int style = *rc::gen::inRange(0, 5);
    std::string text;
    std::vector<double> wide;
    for (const uint64_t pattern : bits) {
      double value = std::bit_cast<double>(pattern * 0x9e3779b97f4a7c15);  // small numbers are what rapidcheck likes
      if (!std::isfinite(value) || std::fabs(value) > 1e38) value = static_cast<double>(pattern) * 1e-9;
      const std::string field = printed(value, style);
      text += field + ",0\n";
      wide.push_back(without_quotes(field));
      wide.push_back(0);
    }
    const std::string path = folder.file("random.csv", text);
    ReadOptions options;
    options.dtype = DataType::kFloat64;
    RC_ASSERT(values_of(read_points(path, options).view) == wide);
    options.dtype.reset();  // wide numbers, nearly always
    const Dataset read = read_points(path, options);
    RC_ASSERT(read.view.type == DataType::kFloat32 || values_of(read.view) == wide);
    for (double& value : wide) value = static_cast<float>(value);
    options.dtype = DataType::kFloat32;
    RC_ASSERT(values_of(read_points(path, options).view) == wide);
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace manymeans::test
