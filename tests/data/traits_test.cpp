// Clusters by columns that were not fitted.
#include <manymeans/error.h>
#include <manymeans/summary.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace manymeans::test {
namespace {

const double kNaN = std::nan("");

ModelResult model_of(const std::vector<uint32_t>& labels, int64_t k) {
  ModelResult model;
  model.k = k;
  model.labels = Labels(static_cast<int64_t>(labels.size()), k);
  model.labels.write(0, static_cast<int64_t>(labels.size()), labels.data());
  return model;
}

TEST(Traits, TestValuesAreDeviationsOfRandomClusters) {
  const std::vector<double> values = {1, 2, 3, kNaN, 6};
  const std::vector<uint32_t> labels = {0, 0, 1, 1, 1};
  const ColumnOfClusters found = describe_column(values, labels, {}, 3);
  EXPECT_EQ(found.all.mean, 3);
  EXPECT_EQ(found.all.deviation, std::sqrt((4 + 1 + 0 + 9) / 4.0));
  EXPECT_EQ(found.means[0], 1.5);
  EXPECT_EQ(found.means[1], 4.5);
  EXPECT_TRUE(std::isnan(found.means[2]) && std::isnan(found.surprise[2]));
  const double error = std::sqrt(14 / 4.0 / 2 * (4 - 2) / (4 - 1));
  EXPECT_DOUBLE_EQ(found.surprise[0], -1.5 / error);
  EXPECT_DOUBLE_EQ(found.surprise[1], 1.5 / error);
}

TEST(Traits, WeightsCount) {
  const std::vector<double> values = {1, 2, 3, 6}, weights = {3, 1, 0, 1};
  const std::vector<uint32_t> labels = {0, 0, 1, 1};
  const ColumnOfClusters plain = describe_column(values, labels, {}, 2);
  const ColumnOfClusters found = describe_column(values, labels, weights, 2);
  EXPECT_EQ(found.all.mean, 11 / 5.0);
  EXPECT_EQ(found.means[0], 1.25);
  EXPECT_EQ(found.means[1], 6);
  const double n = 25 / 11.0, variance = (3 * 1.44 + 0.04 + 14.44) / 5;
  const double factor = 10 / 16.0 - 2 * 10 / (4 * 5.0) + 11 / 25.0;
  EXPECT_NEAR(found.surprise[0], -0.95 / std::sqrt(variance * factor * n / (n - 1)), 1e-12);
  const ColumnOfClusters equal = describe_column(values, labels, std::vector<double>(4, 0.25), 2);
  const std::vector<double> alike = {7, 7, 1, 7};  // but for a row that weighs nothing
  EXPECT_EQ(describe_column(alike, labels, weights, 2).surprise, (std::vector<double>{0, 0}));
  for (const size_t cluster : {0, 1}) EXPECT_DOUBLE_EQ(equal.surprise[cluster], plain.surprise[cluster]);
}

TEST(Traits, OfHardlyAnything) {
  const std::vector<uint32_t> one = {0, 0, 0}, two = {0, 1, 1};
  EXPECT_EQ(describe_column(std::vector<double>{1, 2, 3}, one, {}, 1).surprise[0], 0) << "of all rows";
  EXPECT_EQ(describe_column(std::vector<double>{5, 5, 5}, two, {}, 2).surprise[0], 0) << "of a constant";
  EXPECT_TRUE(std::isnan(describe_column(std::vector<double>(3, kNaN), two, {}, 2).all.mean));
  EXPECT_EQ(describe_column(std::vector<double>{.1, 0, 0}, two, {}, 2).means[1], 0) << "not 1e-18";
  EXPECT_THROW(describe_column(std::vector<double>(2), two, {}, 2), Error);
}

// Two columns: texts, with a gap in row 1, and numbers. The fit has left out row 2, the only one with the text z.
TEST(Traits, OfATable) {
  const std::vector<double> cells = {1, 0, 0, 5, 0, 0, 0, 6, 0, 0, 1, 100, 0, 1, 0, 7, 1, 0, 0, 8};
  Dataset table, points;
  table.view = {cells.data(), 5, 4};
  table.column_names = {"t=x", "t=y", "t=z", "n"};
  table.source.rules = {{.categorical = true, .categories = {"x", "y", "z"}}, {}};
  points.dropped = {2};
  std::vector<std::string> warnings;
  const std::vector<Trait> traits = traits_of(table, points, model_of({0, 0, 1, 1}, 2), warnings);
  EXPECT_TRUE(warnings.empty());
  ASSERT_EQ(traits.size(), 3U);
  EXPECT_TRUE(traits[0].is_text && traits[1].is_text && !traits[2].is_text);
  EXPECT_EQ(traits[0].name, "t=x");
  EXPECT_DOUBLE_EQ(traits[0].columns.all.mean, 2 / 3.0);
  EXPECT_EQ(traits[0].columns.means, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(traits[2].columns.means, (std::vector<double>{5.5, 7.5}));
  points.dropped = {};
  EXPECT_THROW(traits_of(table, points, model_of({0, 0, 1, 1}, 2), warnings), Error);
}

// The fit has left out the only row with a text.
TEST(Traits, ColumnsWithoutATestValueWarn) {
  const std::vector<double> cells = {kNaN, 1, 0, 2, kNaN, INFINITY, 0, 3, 7, 4, 1, 5};
  Dataset table, points;
  table.view = {cells.data(), 3, 4};
  table.column_names = {"gone", "far", "t=x", "near"};
  table.source.numbers = {2, 4, 5, 9};
  table.source.names = {"gone", "far", "t", "near"};
  table.source.rules = {{}, {}, {.categorical = true, .categories = {"x"}}, {}};
  points.dropped = {2};
  std::vector<std::string> warnings;
  traits_of(table, points, model_of({0, 1}, 2), warnings);
  EXPECT_EQ(warnings,
            (std::vector<std::string>{"column 2 ('gone') of the profile holds gaps alone, so no card shows it",
                                      "column 4 ('far') of the profile holds an infinity, so no card shows it",
                                      "column 5 ('t') of the profile holds gaps alone, so no card shows it"}));
}

TEST(Traits, TheMostSurprisingComeFirst) {
  std::vector<Trait> traits(8);
  for (size_t i = 0; i < traits.size(); ++i) traits[i].columns.surprise = {i % 2 == 0 ? 1.0 * i : -1.0 * i};
  traits[7].columns.surprise = {kNaN};
  EXPECT_EQ(surprising(traits, 0), (std::vector<size_t>{6, 5, 4, 3, 2}));
}

TEST(Traits, NoColumnCrowdsOutAnother) {
  std::vector<Trait> traits(10);
  for (size_t i = 0; i < traits.size(); ++i) {
    traits[i].columns.surprise = {10.0 - 1.0 * i};
    traits[i].column = i < 8 ? 0 : i - 7;
  }
  EXPECT_EQ(surprising(traits, 0), (std::vector<size_t>{0, 1, 2, 8, 9}));
}

TEST(Traits, SurpriseIsALiftOrADistanceAndATestValue) {
  Trait share{"t=x", {{0.2, 0.4}, {0.5, 0.05}, {14.9, -1.2}}, true}, mean{"n", {{4, 2}, {5, 4}, {3, 0}}};
  EXPECT_EQ(surprise_text(share, 0), "2.5 times, z +14.9");
  EXPECT_EQ(surprise_text(share, 1), "0.25 times, z -1.2: may be chance");
  EXPECT_EQ(surprise_text(mean, 0), "+0.5 sd, z +3.0");
  mean.columns.surprise = {1.96, -1.94};
  EXPECT_EQ(surprise_text(mean, 0), "+0.5 sd, z +2.0");
  EXPECT_EQ(surprise_text(mean, 1), "+0.0 sd, z -1.9: may be chance");
}

}  // namespace
}  // namespace manymeans::test
