// The library beside the contract written down once more.
#include "regress/textbook_regress.h"

#include <manymeans/regress.h>

#include "regress/regress_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace manymeans::test {
namespace {

TEST(TextbookRegress, HasTheBitsOfTheLibrary) {
  int64_t trials = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const SmallRows rows(120 + 10 * static_cast<int64_t>(seed), seed);
    const auto k = static_cast<int64_t>(1 + seed % 4);
    const auto swaps = static_cast<int64_t>(seed % 5);
    const int64_t max_iter = seed % 3 == 2 ? 12 + static_cast<int64_t>(seed) : 1000;
    RegressOptions options;
    options.k = {k};
    options.model_seed = 77 + seed;
    options.swaps = swaps;
    options.max_iter = max_iter;
    options.empty = EmptyPolicy::kKeep;
    const RegressResult found = regress(RegressionRows::with_target(rows.view(DataType::kFloat32)), {}, options);
    const TextbookAnswer expected = textbook_regress({rows.f32, rows.n, 2, k, 77 + seed, swaps, max_iter});
    const ModelResult& model = found.fit.models[0];
    EXPECT_TRUE(std::ranges::equal(model.prototypes.values<float>(), expected.models)) << seed;
    for (int64_t i = 0; i < rows.n; ++i) ASSERT_EQ(model.labels[i], expected.labels[static_cast<size_t>(i)]) << seed;
    EXPECT_EQ(model.inertia, expected.inertia) << seed;
    EXPECT_EQ(model.iterations, expected.iterations) << seed;
    trials += expected.trials;
  }
  EXPECT_GT(trials, 30);
}

}  // namespace
}  // namespace manymeans::test
