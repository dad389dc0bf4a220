#include <manymeans/error.h>
#include <manymeans/tree.h>

#include "conformance/variants.h"
#include "core/distance.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kRows = 1500, kColumns = 7, kLeaves = 90;

struct Walked {
  std::vector<float> x = test::mixture(kRows, kColumns, 11, 30);
  TreeResult tree = [&] {
    TreeOptions options;
    options.k = {kLeaves};
    options.branching = 5;
    return fit_tree(points(), {}, options);
  }();

  PointsView points() const { return {x.data(), kRows, kColumns}; }
  Labels walk(int64_t n_probe, const PredictOptions& options = {}) const {
    return predict_by_walk(points(), tree.vectors.view(), tree.parents, n_probe, options);
  }
  double distance(int64_t row, int64_t node) const {
    const float* c = tree.vectors.values<float>().data() + node * kColumns;
    return std::sqrt(canonical_distance(x.data() + row * kColumns, c, kColumns));
  }
  // As the page says it.
  int64_t leaf(int64_t row, size_t n_probe) const {
    std::vector<int64_t> reached = {0};
    for (size_t level = 1; level < tree.levels.size(); ++level) {
      std::vector<std::pair<double, int64_t>> order;
      for (int64_t node = 0; node < std::ssize(tree.parents); ++node) {
        if (std::ranges::count(reached, tree.parents[static_cast<size_t>(node)]) > 0) {
          order.emplace_back(distance(row, node), node);
        }
      }
      std::ranges::sort(order);
      reached.clear();
      for (size_t i = 0; i < std::min(n_probe, order.size()); ++i) reached.push_back(order[i].second);
    }
    return reached[0] - (std::ssize(tree.parents) - kLeaves);
  }
};

TEST(TreeWalk, GivesTheLeafOfThePage) {
  const Walked walked;
  ASSERT_EQ(walked.tree.levels.size(), 4U);
  int64_t differ = 0;
  for (const int64_t n_probe : {1, 2, 7}) {
    const Labels labels = walked.walk(n_probe);
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t leaf = walked.leaf(row, static_cast<size_t>(n_probe));
      ASSERT_EQ(labels[row], leaf) << row << " " << n_probe;
      differ += walked.tree.fit.models[0].labels[row] != leaf;
    }
  }
  EXPECT_GT(differ, 20);  // a walk is not the nearest of all
  const Labels all = walked.walk(1'000'000'000);
  EXPECT_TRUE(std::ranges::equal(all.bytes(), walked.tree.fit.models[0].labels.bytes()));
}

TEST(TreeWalk, OneAnswerHoweverItIsComputed) {
  const Walked walked;
  const Labels expected = walked.walk(3);
  std::set<std::string> names;
  for (const test::Target& target : test::targets()) names.insert(target.backend);
  for (const std::string& name : names) {
    for (const int threads : {1, 2, 5}) {
      const Labels labels = walked.walk(3, {.backend = name, .threads = threads});
      EXPECT_TRUE(std::ranges::equal(labels.bytes(), expected.bytes())) << name << " " << threads;
    }
  }
  std::vector<int32_t> room(kRows);
  EXPECT_TRUE(walked.walk(3, {.room = {room.data(), {}}}).empty());
  for (int64_t row = 0; row < kRows; ++row) EXPECT_EQ(room[static_cast<size_t>(row)], expected[row]);
}

TEST(TreeWalk, RefusesWhatIsNoTree) {
  const Walked walked;
  EXPECT_THROW(walked.walk(0), Error);
  const PointsView vectors = walked.tree.vectors.view();
  const auto refused = [&](std::vector<int64_t> parents) {
    PointsView some = vectors;
    some.n = std::ssize(parents);
    try {
      predict_by_walk(walked.points(), some, parents, 2);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::kUsage && std::string(error.what()).starts_with("[parents] ");
    }
  };
  EXPECT_FALSE(refused({-1, 0}));
  EXPECT_FALSE(refused({-1, 0, 0, 1, 2, 2}));
  EXPECT_TRUE(refused({-1}));
  EXPECT_TRUE(refused({0, 0}));
  EXPECT_TRUE(refused({-1, 1, 1}));
  EXPECT_TRUE(refused({-1, 0, 0, 2, 1}));
  EXPECT_TRUE(refused({-1, 0, 0, 2}));  // node 1 has no children
  EXPECT_TRUE(refused({-1, 0, 0, 1}));  // the leaves 2 and 3 have different depths
  EXPECT_TRUE(refused({-1, 0, 0, 1, 2, 3}));
  std::vector<int64_t> few(walked.tree.parents.begin(), walked.tree.parents.end() - 1);
  EXPECT_THROW(predict_by_walk(walked.points(), vectors, few, 2), Error);
  Walked spoilt;
  spoilt.tree.vectors.values<float>()[3 * kColumns + 1] = NAN;
  try {
    spoilt.walk(2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).find("row 4, column 2 is nan") != std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace manymeans
