// FitHooks::labels: the same fit, but for the labels of models that are not the best of their k.
#include "engine/best_labels.h"

#include "comm/thread_ranks.h"
#include "conformance/variants.h"
#include "core/all_labels.h"
#include "engine/fit_shard.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace manymeans::test {
namespace {

constexpr int64_t kRows = 3001, kColumns = 3;

FitOptions several(Strategy strategy, const std::string& backend) {
  FitOptions asked = options({2, 3, 300}, 4);  // labels of one byte and of two
  asked.max_iter = 7;
  asked.backend = backend;
  asked.strategy = strategy;
  return asked;
}

// Says that models that are not the best have no labels, and that everything else is equal.
void expect_best(const FitResult& best, const FitResult& all) {
  ASSERT_EQ(best.models.size(), all.models.size());
  EXPECT_EQ(best.digest(), all.digest());
  for (size_t i = 0; i < all.models.size(); ++i) {
    const ModelResult& model = best.models[i];
    EXPECT_EQ(model.digest(), all.models[i].digest()) << i;
    if (best.best(model.k_requested) == static_cast<int64_t>(i)) {
      EXPECT_EQ(all_labels(model.labels), all_labels(all.models[i].labels)) << i;
    } else {
      EXPECT_TRUE(model.labels.empty()) << i;
    }
  }
}

TEST(BestLabels, OfEveryBackendAndStrategy) {
  const std::vector<float> x = mixture(kRows, kColumns, 4);
  const PointsView points(x.data(), kRows, kColumns);
  std::string last;
  for (const Target& target : targets()) {
    if (std::exchange(last, target.backend) == target.backend) continue;
    for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kData, Strategy::kTask}) {
      SCOPED_TRACE(target.backend + " " + std::string(name_of(strategy)));
      const FitOptions asked = several(strategy, target.backend);
      FitHooks hooks;
      const FitResult all = fit(points, {}, asked, hooks);
      hooks.labels = LabelsOf::kBest;
      expect_best(fit(points, {}, asked, hooks), all);
    }
  }
}

TEST(BestLabels, OfEqualModelsTheFirst) {
  const std::vector<float> x(64, 1.0F);
  FitHooks hooks;
  hooks.labels = LabelsOf::kBest;
  FitOptions asked = options({1}, 5);
  const FitResult found = fit(PointsView(x.data(), 32, 2), {}, asked, hooks);
  EXPECT_EQ(found.models[0].labels.size(), 32);
  for (size_t i = 1; i < 5; ++i) EXPECT_TRUE(found.models[i].labels.empty());
}

TEST(BestLabels, OfRanks) {
  const std::vector<float> x = mixture(kRows, kColumns, 5);
  const FitOptions asked = several(Strategy::kConcatenated, "cpu");
  const FitResult all = fit(PointsView(x.data(), kRows, kColumns), {}, asked);
  const std::vector<int64_t> ends = {1000, 1000, kRows};  // one has no rows
  const auto errors = run_ranks(3, [&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const int64_t first = rank == 0 ? 0 : ends[rank - 1];
    FitHooks hooks;
    hooks.labels = LabelsOf::kBest;
    const FitResult best =
        fit_shard(PointsView(x.data() + first * kColumns, ends[rank] - first, kColumns), {}, asked, hooks, comm);
    EXPECT_EQ(best.digest(), all.digest());
    for (size_t i = 0; i < all.models.size(); ++i) {
      const bool is_best = best.best(best.models[i].k_requested) == static_cast<int64_t>(i);
      EXPECT_EQ(best.models[i].labels.size(), is_best ? ends[rank] - first : 0);
    }
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(BestLabels, SumsOnManyThreadsAreThoseOfOne) {
  constexpr int64_t kMany = 300'001, kFirst = (int64_t{1} << 33) + 5;
  for (const int64_t k : {3, 300, 70'000}) {
    Labels labels(kMany, k);
    for (int64_t i = 0; i < kMany; ++i) {
      const auto label = static_cast<uint32_t>(i * 7919 % k);
      labels.write(i, 1, &label);
    }
    ThreadPool pool(3);
    EXPECT_TRUE(label_sum(labels, kFirst, pool) == label_sum(labels, kFirst)) << k;
  }
}

}  // namespace
}  // namespace manymeans::test
