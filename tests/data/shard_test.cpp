// What ranks find out together about their rows is what one rank with all rows finds out.
#include <manymeans/error.h>

#include "comm/thread_ranks.h"
#include "conformance/cases.h"
#include "data/content_hash.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/shards.h"
#include "init/choose_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace manymeans::test {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// -0 and 0 are one value here: which of them is the smallest depends on the order of the rows.
void expect_same(const std::vector<double>& found, const std::vector<double>& expected) {
  EXPECT_EQ(found, expected);
}

void compare_inputs(const Input& found, const Input& whole, const std::vector<int64_t>& ends) {
  EXPECT_EQ(found.shard.all, whole.points.n);
  EXPECT_EQ(found.shard.rows, found.points.n);
  EXPECT_EQ(found.shard.ends, ends);
  EXPECT_EQ(found.weighted, whole.weighted);
  EXPECT_EQ(found.weight_shift, whole.weight_shift);
  EXPECT_EQ(found.weight_exponent, whole.weight_exponent);
  EXPECT_EQ(found.max_weight, whole.max_weight);
  EXPECT_EQ(found.bits, whole.bits);
  EXPECT_EQ(found.limbs, whole.limbs);
  EXPECT_EQ(found.columns, whole.columns);
  EXPECT_EQ(found.lowest, whole.lowest);
  expect_same(found.minimum, whole.minimum);
  expect_same(found.maximum, whole.maximum);
  for (int64_t i = 0; i < found.points.n; ++i) EXPECT_EQ(found.weight(i), whole.weight(found.shard.first + i));
}

void compare_moments(const Input& found, const Input& whole, ThreadPool& pool) {
  const std::vector<Moments> mine = column_moments(found, pool);
  const std::vector<Moments> expected = column_moments(whole, pool);
  ASSERT_EQ(mine.size(), expected.size());
  for (size_t j = 0; j < mine.size(); ++j) {
    EXPECT_EQ(mine[j].mean, expected[j].mean);
    EXPECT_EQ(mine[j].variance, expected[j].variance);
  }
}

void compare_rows(const Input& found, const Input& whole, uint64_t seed, ThreadPool& pool) {
  std::mt19937_64 random(seed);
  const int64_t n = whole.points.n;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < std::min<int64_t>(n, 40); ++i) rows.push_back(static_cast<int64_t>(random() % n));
  EXPECT_TRUE(std::ranges::equal(gather_from_all(found, rows).bytes(), gather_from_all(whole, rows).bytes()));
  EXPECT_EQ(weights_from_all(found, rows), weights_from_all(whole, rows));
  const std::vector<uint64_t> u = {0, ~uint64_t{0}, random(), random(), random()};
  EXPECT_EQ(rows_by_weight(found, u), rows_by_weight(whole, u));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto count = static_cast<int64_t>(random() % static_cast<uint64_t>(n - static_cast<int64_t>(rows.size()) + 1));
  const std::vector<RowWish> wishes = {{std::min<int64_t>(n, 9), 3}, {count, 4, rows}, {n, 5}};
  EXPECT_EQ(random_rows(found, wishes, pool), random_rows(whole, wishes, pool));
}

TEST(Shards, SeeWhatOneRankSees) {
  for (uint64_t seed = 300; seed < 340; ++seed) {
    Case made = random_case(seed);
    if (made.shape.n > 1500) continue;
    if (!made.weights.empty() && seed % 2 == 0) made.weights.back() = 1e-300;  // too small to count
    const int ranks = 1 + static_cast<int>(seed % 8);
    const std::vector<int64_t> ends = shard_ends(made.shape.n, ranks, seed);
    ThreadPool pool(2);
    const Input whole = prepare_input(made.points(), made.weights, pool);
    const ContentHash hash = content_hash(made.points(), pool);
    const auto errors = run_ranks(ranks, [&](Comm& comm) {
      const Part part = part_of(made, ends, comm.rank());
      ThreadPool own(1 + comm.rank() % 2);
      const Input found = prepare_input(part.points, part.weights, own, {}, comm);
      compare_inputs(found, whole, ends);
      compare_moments(found, whole, own);
      compare_rows(found, whole, seed, own);
      EXPECT_TRUE(comm.sum(content_hash(part.points, own, {}, found.shard.first)) == hash);
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "") << made.name;
    if (HasFailure()) FAIL() << made.name << " ends " << fmt::format("{}", fmt::join(ends, ","));
  }
}

// What prepare_input throws on every rank.
std::string same_error(const Case& made, const std::vector<int64_t>& ends,
                       const std::function<void(Part&, int)>& change = {}) {
  const auto errors = run_ranks(static_cast<int>(ends.size()), [&](Comm& comm) {
    Part part = part_of(made, ends, comm.rank());
    if (change) change(part, comm.rank());
    ThreadPool pool(1);
    prepare_input(part.points, part.weights, pool, {}, comm);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
  return errors[0];
}

std::string error_of_one(const Case& made) {
  ThreadPool pool(1);
  try {
    prepare_input(made.points(), made.weights, pool);
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "";
}

const std::vector<int64_t> kEnds = {30, 30, 70, 100};

Case with_value(double value, int64_t row, int64_t column) {
  Case made = make_case(Family::kNormal, DataType::kFloat64, Weighting::kIntegers, {100, 3, {4}}, 5);
  std::memcpy(made.bytes.data() + (row * 3 + column) * 8, &value, 8);
  return made;
}

TEST(Shards, SayWhatOneRankSaysOfBadValues) {
  const Case nan = with_value(std::nan(""), 54, 2);
  EXPECT_EQ(same_error(nan, kEnds), error_of_one(nan));
  EXPECT_PRED2(contains, error_of_one(nan), ("row 55, column 3 is NaN"));
  Case two = with_value(std::numeric_limits<double>::infinity(), 80, 0);
  const double another = std::nan("");
  std::memcpy(two.bytes.data() + 29 * 3 * 8, &another, 8);
  EXPECT_EQ(same_error(two, kEnds), error_of_one(two));
  const Case huge = with_value(0x1p501, 99, 0);
  EXPECT_EQ(same_error(huge, kEnds), error_of_one(huge));
}

TEST(Shards, SayWhatOneRankSaysOfBadWeights) {
  Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kIntegers, {100, 3, {4}}, 5);
  made.weights[77] = -1;
  EXPECT_EQ(same_error(made, kEnds), error_of_one(made));
  EXPECT_PRED2(contains, error_of_one(made), ("row 78"));
  made.weights[77] = 1e308;
  EXPECT_EQ(same_error(made, kEnds), error_of_one(made));
  std::ranges::fill(made.weights, 0);
  EXPECT_EQ(same_error(made, kEnds), error_of_one(made));
}

TEST(Shards, HaveToBeOfTheSameKind) {
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kIntegers, {100, 3, {4}}, 5);
  EXPECT_EQ(same_error(made, kEnds, [](Part& part, int rank) { part.points.d -= rank == 2 ? 1 : 0; }),
            "2: [points] rank 0 has 3 columns of float32, rank 2 has 2 columns of float32; give all ranks the same");
  EXPECT_EQ(same_error(made, kEnds,
                       [](Part& part, int rank) {
                         if (rank == 3) part.weights = {};
                       }),
            "2: [weights] rank 0 has weights, rank 3 has none; give them on all ranks or on none");
  EXPECT_EQ(same_error(made, kEnds, [](Part& part, int) { part.points.n = 0; }),
            "3: [points] there are no rows; at least one is needed");
}

}  // namespace
}  // namespace manymeans::test
