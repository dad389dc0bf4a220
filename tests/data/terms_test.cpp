#include <manymeans/error.h>
#include <manymeans/terms.h>

#include "io/files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace manymeans {
namespace {

using test::expect_error;
using test::values_of;

constexpr Terms kSquares = {2, false};
constexpr Terms kAll = {2, true};

TEST(Terms, SquaresAndProductsFollowTheFeatures) {
  const std::vector<double> x = {2, 3, 5, 100, -1, 0, 7, 200};
  Dataset points;
  points.view = {x.data(), 2, 4};
  points.column_names = {"a", "b", "c", "y"};
  Dataset squares = points;
  expand_terms(points, kAll, 1, 2);
  EXPECT_EQ(values_of(points.view), (std::vector<double>{2,  3, 5, 4, 6, 10, 9, 15, 25, 100,  //
                                                         -1, 0, 7, 1, 0, -7, 0, 0,  49, 200}));
  EXPECT_EQ(points.column_names,
            (std::vector<std::string>{"a", "b", "c", "a^2", "a*b", "a*c", "b^2", "b*c", "c^2", "y"}));
  EXPECT_FALSE(std::signbit(values_of(points.view)[14])) << "-1 * 0";
  expand_terms(squares, kSquares, 1);
  EXPECT_EQ(values_of(squares.view), (std::vector<double>{2, 3, 5, 4, 9, 25, 100, -1, 0, 7, 1, 0, 49, 200}));
  EXPECT_EQ(squares.column_names, (std::vector<std::string>{"a", "b", "c", "a^2", "b^2", "c^2", "y"}));
}

TEST(Terms, EachProductIsRoundedOnce) {
  const std::vector<float> x = {1 + 0x1p-12F, 1 + 0x1p-23F, 0x1p100F};
  Dataset points;
  points.view = {x.data(), 1, 3};
  expand_terms(points, kAll, 0);
  ASSERT_EQ(points.view.type, DataType::kFloat32);
  const auto* values = static_cast<const float*>(points.view.data);
  EXPECT_EQ(values[3], 1 + 0x1p-11F) << "1 + 2^-11 + 2^-24 is a tie, which goes to even";
  EXPECT_EQ(values[4], static_cast<float>((1 + 0x1p-12) * (1 + 0x1p-23)));
  EXPECT_TRUE(std::isinf(values[8]));
  const std::vector<uint8_t> bytes = {255, 3};
  points.view = {bytes.data(), 1, 2, DataType::kUInt8};
  expand_terms(points, kAll, 0);
  EXPECT_EQ(points.view.type, DataType::kFloat32);
  EXPECT_EQ(values_of(points.view), (std::vector<double>{255, 3, 65025, 765, 9}));
}

TEST(Terms, NumbersOfFeaturesAndTermsAgree) {
  for (const Terms& terms : {Terms{}, kSquares, kAll}) {
    for (int64_t features = 1; features < 30; ++features) {
      EXPECT_EQ(features_of_terms(term_count(features, terms), terms), features);
      const std::vector<std::string> names(static_cast<size_t>(features), "x");
      EXPECT_EQ(std::ssize(term_names(names, terms)), term_count(features, terms));
    }
  }
  EXPECT_EQ(features_of_terms(3, kAll), 0);
  EXPECT_EQ(features_of_terms(0, kAll), 0);
}

TEST(Terms, TooManyAreRefused) {
  check_terms(21, kAll);
  check_terms(128, kSquares);
  check_terms(1000, {});
  expect_error(ErrorCode::kUsage,
               {"degree",
                "22 features have 275 terms of degree 2, 44 without products; linear models"
                " take at most 256"},
               [] { check_terms(22, kAll); });
  expect_error(ErrorCode::kUsage, {"129 features"}, [] { check_terms(129, kSquares); });
  expect_error(ErrorCode::kUsage, {"degree", "is 3; it must be 1 or 2"}, [] { check_terms(2, {3, true}); });
}

}  // namespace
}  // namespace manymeans
