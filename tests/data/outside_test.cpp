// Warnings of rows that lie far outside the points of a fit.
#include <manymeans/fit.h>
#include <manymeans/io.h>
#include <manymeans/sparse.h>

#include "comm/thread_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kColumns = 3;

// Grams, millimetres and years: rows of normal values in each column.
std::vector<double> animals(int64_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> grams(4200, 800), millimetres(44, 5.5), years(0, 1);
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i) {
    values.push_back(grams(random));
    values.push_back(millimetres(random));
    values.push_back(years(random));
  }
  return values;
}

PointsView view_of(const std::vector<double>& values) {
  return {values.data(), std::ssize(values) / kColumns, kColumns};
}

ColumnRanges ranges_of_fit(const PointsView& points, const FitOptions& options = {.k = {2}, .max_iter = 1}) {
  return fit(points, {}, options).ranges;
}

std::vector<std::string> warnings(const PointsView& points, const ColumnRanges& fitted, const Scaling& scaling = {}) {
  Dataset named;
  named.view = points;
  named.column_names = {"mass", "bill", "age"};
  return outside_warnings(named, fitted, scaling);
}

// In every row `change(row of three values)`.
template <class Change>
std::vector<double> changed(std::vector<double> values, Change&& change) {
  for (size_t i = 0; i < values.size(); i += kColumns) change(&values[i]);
  return values;
}

TEST(Outside, AFitKnowsItsRanges) {
  std::vector<double> values = animals(500, 1);
  values[2] = -0.0;
  for (size_t i = 2; i < values.size(); i += kColumns) values[i] = std::fabs(values[i]);
  std::swap(values[2], values[302]);
  values[2] = 0.0;
  const ColumnRanges found = ranges_of_fit(view_of(values));
  EXPECT_EQ(found.rows, 500);
  for (size_t j = 0; j < kColumns; ++j) {
    double least = values[j], most = values[j];
    for (size_t i = j; i < values.size(); i += kColumns) {
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
    EXPECT_EQ(found.minimum[j], least);
    EXPECT_EQ(found.maximum[j], most);
  }
  EXPECT_FALSE(std::signbit(found.minimum[2])) << "which zero comes first depends on threads";
  for (const char* backend : {"cpu", "reference"}) {
    for (const int threads : {1, 4}) {
      const ColumnRanges again =
          ranges_of_fit(view_of(values), {.k = {3}, .max_iter = 2, .backend = backend, .threads = threads});
      EXPECT_EQ(again.minimum, found.minimum);
      EXPECT_EQ(again.maximum, found.maximum);
    }
  }
  EXPECT_TRUE(ranges_of_fit(view_of(values), {.k = {2}, .metric = Metric::kCosine}).minimum.empty());
}

TEST(Outside, OrdinaryRowsAreSilent) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    for (const int64_t fitted : {5, 32, 1000}) {
      const std::vector<double> of_fit = animals(fitted, 2 * seed);
      const ColumnRanges ranges = ranges_of_fit(view_of(of_fit));
      for (const int64_t rows : {1, 10, 500}) {
        const std::vector<double> others = animals(rows, 2 * seed + 1);
        EXPECT_EQ(warnings(view_of(others), ranges), std::vector<std::string>()) << fitted << " " << rows;
      }
    }
  }
}

TEST(Outside, OtherUnitsAndPlaces) {
  const ColumnRanges ranges = ranges_of_fit(view_of(animals(500, 1)));
  const std::vector<double> others = animals(200, 2);
  const auto expect = [&](const char* start, auto&& change) {
    const std::vector<double> values = changed(others, change);
    const auto found = warnings(view_of(values), ranges);
    ASSERT_EQ(found.size(), 1u) << start;
    EXPECT_TRUE(found[0].starts_with(start)) << found[0];
    const std::vector<float> narrow(values.begin(), values.end());
    EXPECT_EQ(warnings({narrow.data(), 200, kColumns}, ranges), found);
  };
  expect("column 1 ('mass') is far outside the points of the fit in most rows: ", [](double* x) { x[0] /= 1000; });
  expect("column 2 ('bill') is far", [](double* x) { x[1] /= 10; });
  expect("column 3 ('age') is far", [](double* x) { x[2] *= 365; });
  expect("column 1 ('mass') and 1 other column are far", [](double* x) { std::swap(x[0], x[1]); });
  expect("column 1 ('mass') and 1 other column are far", [](double* x) {  // scaled rows, raw fit
    x[0] = (x[0] - 4200) / 800;
    x[1] = (x[1] - 44) / 5.5;
  });
}

TEST(Outside, UnscaledRows) {
  const std::vector<double> raw = animals(500, 1);
  for (const Scale kind : {Scale::kStandard, Scale::kMinMax}) {
    const Scaling scaling = find_scaling(view_of(raw), kind);
    const Matrix scaled = apply_scaling(view_of(raw), scaling);
    const ColumnRanges ranges = ranges_of_fit(scaled.view());
    EXPECT_TRUE(warnings(scaled.view(), ranges).empty());
    EXPECT_EQ(warnings(view_of(raw), ranges).size(), 1u);
    EXPECT_EQ(warnings({raw.data(), 1, kColumns}, ranges).size(), 1u) << "one row";
    // A model that has the scaling compares rows as they stand in the file.
    EXPECT_TRUE(warnings(view_of(raw), ranges, scaling).empty());
    const std::vector<double> kilograms = changed(raw, [](double* x) { x[0] /= 1000; });
    const auto found = warnings(view_of(kilograms), ranges, scaling);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].starts_with("column 1 ('mass') is far outside")) << found[0];
  }
}

// All columns in a far larger unit are within the ranges.
TEST(Outside, Pixels) {
  std::mt19937 random(1);
  std::vector<float> bytes(3000), shares;
  for (float& value : bytes) value = static_cast<float>(random() % 256);
  for (const float value : bytes) shares.push_back(value / 255);
  const PointsView points(bytes.data(), 300, 10);
  const ColumnRanges ranges = ranges_of_fit(points);
  EXPECT_TRUE(warnings(points, ranges).empty());
  const auto found = warnings({shares.data(), 300, 10}, ranges);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].starts_with("column 1 ('mass') and 9 other columns are far smaller than")) << found[0];
  const std::vector<float> zeros(3000);
  EXPECT_TRUE(warnings({zeros.data(), 300, 10}, ranges).empty()) << "black is a colour";
}

TEST(Outside, WhatTellsNothing) {
  const ColumnRanges ranges = ranges_of_fit(view_of(animals(500, 1)));
  const std::vector<double> far(30, 1e9);
  EXPECT_TRUE(warnings(view_of(far), {}).empty()) << "a file of before";
  EXPECT_TRUE(warnings({far.data(), 0, kColumns}, ranges).empty());
  EXPECT_TRUE(warnings({far.data(), 5, 6}, ranges).empty()) << "the prediction refuses other columns";
  EXPECT_TRUE(warnings(view_of(far), {{1, 1, 1}, {1, 1, 1}, 100}).empty()) << "constant columns have no width";
  EXPECT_EQ(warnings({far.data(), 15, 2}, ranges).size(), 1u) << "features without the target";
}

TEST(Outside, SparseRows) {
  std::vector<int64_t> starts = {0};
  std::vector<int32_t> columns;
  std::vector<float> shares, counts;
  for (int row = 0; row < 100; ++row) {
    for (int j = row % 7; j < 40; j += 7) {
      columns.push_back(j);
      shares.push_back(0.1f + 0.01f * static_cast<float>((row * j) % 13));
      counts.push_back(static_cast<float>(1 + (row * j) % 13));
    }
    starts.push_back(static_cast<int64_t>(columns.size()));
  }
  const auto sparse = [&](const std::vector<float>& values) {
    SparseView view;
    view.values = values.data();
    view.indices = columns.data();
    view.starts = starts.data();
    view.entries = static_cast<int64_t>(columns.size());
    view.n = 100;
    view.d = 40;
    return view;
  };
  const SparseView fitted = sparse(shares), others = sparse(counts);
  const ColumnRanges ranges = ranges_of_fit(fitted.points());
  Dataset points;
  points.view = fitted.points();
  EXPECT_TRUE(outside_warnings(points, ranges).empty());
  points.view = others.points();
  EXPECT_EQ(outside_warnings(points, ranges).size(), 1u);
}

}  // namespace
}  // namespace manymeans
