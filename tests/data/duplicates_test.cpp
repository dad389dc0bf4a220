#include "data/duplicates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace manymeans {
namespace {

constexpr DuplicatesRule kAlways = {1, 1, false};

template <class T>
std::vector<T> some_rows(int64_t n, int64_t d, int64_t distinct) {
  std::mt19937_64 random(static_cast<uint64_t>(n + d));
  std::vector<T> x;
  for (int64_t i = 0; i < n; ++i) {
    const auto from = static_cast<int64_t>(random() % static_cast<uint64_t>(distinct));
    for (int64_t j = 0; j < d; ++j) x.push_back(static_cast<T>(from * 31 % 97 + j * from) / T{3});
  }
  return x;
}

template <class T>
Input input_of(const std::vector<T>& x, int64_t d, std::span<const double> weights = {}) {
  ThreadPool pool(1);
  return prepare_input({x.data(), static_cast<int64_t>(x.size()) / d, d}, weights, pool);
}

std::optional<Duplicates> duplicates_of(const Input& input, int threads = 1, const DuplicatesRule& rule = kAlways) {
  ThreadPool pool(threads);
  return find_duplicates(input, pool, rule);
}

template <class T>
void expect_duplicates(int64_t n, int64_t d, int64_t distinct) {
  const std::vector<T> x = some_rows<T>(n, d, distinct);
  const Input input = input_of(x, d);
  const std::optional<Duplicates> rows = duplicates_of(input);
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->input.counted);
  EXPECT_EQ(rows->first.back(), n);
  std::vector<int> seen(static_cast<size_t>(n));
  for (int64_t g = 0; g < rows->distinct_rows(); ++g) {
    const auto equal = rows->rows_of(g);
    EXPECT_EQ(static_cast<double>(equal.size()), rows->input.weights[static_cast<size_t>(g)]);
    EXPECT_TRUE(std::is_sorted(equal.begin(), equal.end()));
    for (const uint32_t row : equal) {
      ++seen[row];
      EXPECT_EQ(rows->distinct[row], g);
      EXPECT_EQ(std::memcmp(x.data() + row * d, static_cast<const T*>(rows->input.points.data) + g * d,
                            static_cast<size_t>(d) * sizeof(T)),
                0);
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST(Duplicates, EveryRowEqualsItsDistinctRow) {
  expect_duplicates<float>(1, 1, 1);
  expect_duplicates<float>(1000, 3, 7);
  expect_duplicates<float>(20000, 5, 900);
  expect_duplicates<double>(20000, 2, 300);
  expect_duplicates<double>(777, 9, 1);
}

TEST(Duplicates, AsFewDistinctRowsAsTermsAllow) {
  const std::vector<float> x = some_rows<float>(1000, 3, 7);
  EXPECT_EQ(duplicates_of(input_of(x, 3))->distinct_rows(), 7);
  const std::vector<float> many(100000, 1.0f);  // one row, of multiplicities of at most 2^(52 - b)
  const Input input = input_of(many, 2);
  const std::optional<Duplicates> rows = duplicates_of(input);
  EXPECT_EQ(rows->input.max_weight, std::ldexp(1, 52 - input.bits));
  const std::vector<double> whole(21, 3.0);
  EXPECT_EQ(duplicates_of(input_of(whole, 3))->distinct_rows(), 1);
  const std::vector<double> wide(21, 0.1);  // 7 rows; in binary64 only 4 + 2 + 1 of them give exact products
  EXPECT_EQ(duplicates_of(input_of(wide, 3))->input.weights, (std::vector<double>{4, 2, 1}));
}

TEST(Duplicates, TheSameForAnyNumberOfThreads) {
  const std::vector<float> x = some_rows<float>(30011, 4, 5000);
  const Input input = input_of(x, 4);
  const std::optional<Duplicates> one = duplicates_of(input, 1);
  for (const int threads : {2, 5}) EXPECT_EQ(duplicates_of(input, threads)->distinct, one->distinct);
}

TEST(Duplicates, NegativeZeroIsARowOfItsOwn) {
  const std::vector<float> x = {0.0f, -0.0f, 0.0f, -0.0f};
  EXPECT_EQ(duplicates_of(input_of(x, 1))->distinct_rows(), 2);
}

TEST(Duplicates, NoneWhereTermsAreRoundedOrWeighted) {
  const std::vector<float> x = some_rows<float>(1000, 3, 7);
  EXPECT_FALSE(duplicates_of(input_of(x, 3, std::vector<double>(1000, 1.0))));
  std::vector<float> spread = {1e38f, 1e-38f, 3e-45f};  // more than four limbs hold
  spread.insert(spread.end(), spread.begin(), spread.end());
  EXPECT_FALSE(duplicates_of(input_of(spread, 1)));
}

TEST(Duplicates, ByItselfOnlyWhereItPays) {
  const DuplicatesRule usual;
  const auto pays = [&](int64_t n, int64_t distinct) {
    const std::vector<float> x = some_rows<float>(n, 3, distinct);
    const Input input = input_of(x, 3);
    return duplicates_of(input, 1, usual).has_value();
  };
  EXPECT_FALSE(pays(1000, 10)) << "few rows";
  EXPECT_TRUE(pays(20000, 10));
  EXPECT_TRUE(pays(200000, 50000));
  EXPECT_FALSE(pays(200000, 1 << 30)) << "rows that hardly repeat";
  std::vector<float> sorted;  // each row stands next to those that equal it
  for (int i = 0; i < 200000; ++i) sorted.push_back(static_cast<float>(i / 2));
  EXPECT_TRUE(duplicates_of(input_of(sorted, 1), 1, usual));
}

}  // namespace
}  // namespace manymeans
