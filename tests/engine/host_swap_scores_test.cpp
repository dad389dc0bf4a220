#include "engine/host_swap_scores.h"

#include "small_data.h"
#include "textbook_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace manymeans::test {
namespace {

struct Shape {
  int64_t d, k;
  bool grid = false;  // rows at equal distances, many of them duplicates
};

// Bit for bit those of the contract, on every instruction set and any number of threads.
TEST(HostSwapScores, AreThoseOfTheContract) {
  for (const auto& [d, k, grid] : {Shape{1, 17}, {2, 17}, {7, 17}, {40, 17}, {3, 2}, {2, 17, true}, {2, 300}}) {
    const int64_t n = 533;
    std::vector<float> x = mixture(n, d, static_cast<unsigned>(d));
    for (float& v : x) v = grid ? std::round(v) : v;
    std::vector<double> weights;
    for (int64_t i = 0; i < n; ++i) weights.push_back(i % 11 == 0 ? 0 : 0.7 + static_cast<double>(i % 4));
    const PointsView points(x.data(), n, d);
    SearchOptions options;
    options.k = {k};
    options.max_iter = 3;
    const Matrix model = fit(points, weights, options).models[0].prototypes;
    TextbookSearch textbook(points, weights, options);
    const std::vector<TextbookSwap> expected = textbook.look(model, 5, 2);
    ThreadPool pool(3);
    const Input input = prepare_input(points, weights, pool);
    const SearchRows rows(input, pool);
    for (const CentreLanes& lanes : centre_lanes()) {
      HostSwapScores scores(rows, lanes);
      scores.assign(model, pool);
      const std::vector<int64_t> drawn = scores.draw({member_seed(0, k, 0), 5, static_cast<uint32_t>(2 * k)}, k);
      const std::vector<Swap> found = scores.swaps(drawn, pool);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].row, expected[i].row);
        EXPECT_EQ(found[i].removed, expected[i].removed);
        EXPECT_EQ(found[i].cluster, expected[i].cluster);
        EXPECT_EQ(found[i].change, expected[i].change) << lanes.name;
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
