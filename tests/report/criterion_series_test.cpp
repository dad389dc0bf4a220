// All criteria have a place in the list from which tables and charts are made.
#include <manymeans/report.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace manymeans::test {
namespace {

TEST(CriterionSeries, HasEveryVoteAndAValueForEveryK) {
  const std::vector<float> values = {0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32};
  ChooseOptions options;
  options.fit.k = {2, 3, 4, 5};
  options.fit.models = 2;
  options.references = 2;
  const ChosenK chosen = choose_k({values.data(), 12, 1}, options);
  const std::vector<CriterionSeries> all = criterion_series(chosen);
  for (const Vote& vote : chosen.votes) {
    const auto found = std::ranges::find(all, vote.criterion, &CriterionSeries::name);
    ASSERT_NE(found, all.end()) << vote.criterion << " has no entry in choose_criteria.cpp";
    EXPECT_EQ(found->vote, vote.k);
    EXPECT_EQ(found->reason, vote.reason);
  }
  for (const CriterionSeries& series : all) {
    EXPECT_EQ(series.values.size(), chosen.evidence.size());
    EXPECT_TRUE(series.errors.empty() || series.errors.size() == series.values.size());
    EXPECT_FALSE(series.heading.empty() || series.meaning.empty() || series.title.empty());
  }
  EXPECT_EQ(all[0].values[1], chosen.evidence[1].gap);
}

}  // namespace
}  // namespace manymeans::test
