#include "backend/swap_scores.h"

#include "backend/backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace manymeans::test {
namespace {

// Of whatever a test says.
class ToldScores final : public SwapScores {
 public:
  ToldScores(const Input& input, std::vector<double> prefix) : SwapScores(input), prefix_(std::move(prefix)) {}

  void assign(const Matrix&, ThreadPool&) override {}
  std::vector<double> changes;

 private:
  std::span<const double> prefix() override { return prefix_; }
  std::vector<Swap> best_swaps(std::span<const int64_t> rows, ThreadPool&) override {
    std::vector<Swap> found;
    for (size_t i = 0; i < rows.size(); ++i) found.push_back({rows[i], 0, 1, changes[i]});
    return found;
  }

  std::vector<double> prefix_;
};

struct FourRows {
  FourRows() : pool(1), input(prepare_input(PointsView(x, 4, 2), {}, pool)) {}

  float x[8] = {0, 1, -0.0F, 3, 4, 5, 6, 7};
  ThreadPool pool;
  Input input;
};

TEST(SwapScores, DrawsTheFirstRowBeyond) {
  const FourRows rows;
  ToldScores scores(rows.input, {1, 1, 3, 4});
  const SearchDraw draw{7, 8, 9};
  const std::vector<int64_t> found = scores.draw(draw, 200);
  ASSERT_EQ(found.size(), 200U);
  for (size_t i = 0; i < found.size(); ++i) {
    const uint64_t u = random_u64(7, 8, 9 + static_cast<uint32_t>(i), Purpose::kSearchRow);
    const double target = static_cast<double>(u) * 0x1p-64 * 4;
    EXPECT_EQ(found[i], target < 1 ? 0 : target < 3 ? 2 : 3);
  }
}

TEST(SwapScores, DrawsNothingWhereThereIsNothing) {
  const FourRows rows;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double total : {0.0, infinity, std::nan("")}) {
    ToldScores scores(rows.input, {0, 0, 0, total});
    EXPECT_TRUE(scores.draw({1, 2, 3}, 5).empty()) << total;
  }
}

TEST(SwapScores, SortsWhatIsFound) {
  FourRows rows;
  ToldScores scores(rows.input, {1, 2, 3, 4});
  scores.changes = {2, std::numeric_limits<double>::infinity(), -1, 2, std::nan("")};
  const std::vector<int64_t> asked = {0, 1, 2, 3, 0};
  const std::vector<Swap> found = scores.swaps(asked, rows.pool);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].row, 2);
  EXPECT_EQ(found[1].row, 0);
  EXPECT_EQ(found[2].row, 3);
  EXPECT_TRUE(scores.swaps({}, rows.pool).empty());
}

TEST(SwapScores, MakesRowsCentroids) {
  const FourRows rows;
  const ToldScores scores(rows.input, {1, 2, 3, 4});
  Matrix centroids(3, 2, DataType::kFloat32);
  const std::vector<Swap> swaps = {{.row = 3, .removed = 0}, {.row = 1, .removed = 2}};
  scores.put(swaps, centroids);
  const float expected[] = {6, 7, 0, 0, 0, 3};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(centroids.values<float>()[i], expected[i]);
  EXPECT_FALSE(std::signbit(centroids.values<float>()[4]));
  scores.put({}, centroids);
}

// The host scores for those that do not.
TEST(SwapScores, AreTheHostsForBackendsThatHaveNone) {
  const FourRows rows;
  for (const char* name : {"cpu", "reference"}) {
    EXPECT_EQ(make_backend(name, {})->upload(rows.input)->swap_scores(2), nullptr) << name;
  }
}

}  // namespace
}  // namespace manymeans::test
