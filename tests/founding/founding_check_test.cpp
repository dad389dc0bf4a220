// The check of the plain programs finds what it is there to find.
#include "founding/founding_check.h"

#include "founding/plain_kmeans.h"

#include <gtest/gtest.h>

#include <vector>

namespace manymeans::founding {
namespace {

// A right run of plain k-means, which tests then damage.
class FoundingCheck : public testing::Test {
 protected:
  FoundingCheck() {
    shape_.rows = 500;
    shape_.columns = 2;
    shape_.clusters = 5;
    shape_.seed = 3;
    shape_.points = "uniform";
    points_ = make_points<float>(shape_);
    first_ = first_centroids(shape_, points_, 0);
    model_ = {points_.data(), shape_.rows, shape_.columns, shape_.clusters, 1, first_};
    model_.labels.resize(500);
    for (int i = 0; i < 3; ++i) {
      before_ = model_.centroids;
      assign_and_sum(model_);
      move_centroids(model_, 0);
    }
  }

  PointsView view(const std::vector<float>& centroids) const {
    return {centroids.data(), shape_.clusters, shape_.columns};
  }

  RunVerdict check(int64_t iterations = 3) const {
    return check_kmeans({.points = {points_.data(), shape_.rows, shape_.columns},
                         .first = view(first_),
                         .before = view(before_),
                         .after = view(model_.centroids),
                         .iterations = iterations,
                         .labels = model_.labels},
                        "reference");
  }

  ExperimentShape shape_;
  std::vector<float> points_, first_, before_;
  PlainModel<float> model_;
};

TEST_F(FoundingCheck, AcceptsARightRun) {
  const RunVerdict verdict = check();
  EXPECT_TRUE(verdict.right());
  EXPECT_EQ(verdict.labels_wrong, 0);
  EXPECT_EQ(verdict.means_wrong, 0);
}

TEST_F(FoundingCheck, FindsOneWrongLabel) {
  model_.labels[123] = (model_.labels[123] + 1) % 5;
  const RunVerdict verdict = check();
  EXPECT_EQ(verdict.labels_wrong, 1);
  EXPECT_FALSE(verdict.right());
}

TEST_F(FoundingCheck, FindsALabelOutsideTheClusters) {
  model_.labels[7] = -1;
  EXPECT_EQ(check().labels_wrong, 1);
}

TEST_F(FoundingCheck, FindsAMeanWithoutOnePoint) {
  const auto label = static_cast<size_t>(model_.labels[9]);
  const auto count = static_cast<float>(model_.counts[label]);
  float& value = model_.centroids[label * 2];
  value = (value * count - points_[18]) / (count - 1);
  const RunVerdict verdict = check();
  EXPECT_EQ(verdict.means_wrong, 1);
  EXPECT_FALSE(verdict.right());
}

TEST_F(FoundingCheck, FindsAMissingIteration) {
  const RunVerdict verdict = check(4);
  EXPECT_GT(verdict.difference, verdict.tolerance);
  EXPECT_TRUE(verdict.went_apart);
  EXPECT_FALSE(verdict.right());
}

// Two equal centroids: each of the two is right.
TEST_F(FoundingCheck, AcceptsTies) {
  before_[0] = before_[2];
  before_[1] = before_[3];
  model_.centroids = before_;
  assign_and_sum(model_);
  for (int32_t& label : model_.labels) label = label == 0 ? 1 : label;
  EXPECT_GT(check().ties, 0);
  EXPECT_EQ(check().labels_wrong, 0);
}

}  // namespace
}  // namespace manymeans::founding
