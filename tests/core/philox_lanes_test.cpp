#include "core/philox_lanes.h"

#include <gtest/gtest.h>

#include <random>

namespace manymeans::test {
namespace {

TEST(LabelTerms, AreThoseOfTheContract) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> any_row(0, int64_t{1} << 62);
  for (const size_t count : {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 1000}) {
    std::vector<int64_t> rows(count);
    std::vector<uint32_t> labels(count);
    LabelSum expected = 0, of_neighbours = 0;
    const int64_t first = any_row(random);
    for (size_t i = 0; i < count; ++i) {
      rows[i] = i % 2 == 0 ? static_cast<int64_t>(i) : any_row(random);
      labels[i] = i % 3 == 0 ? static_cast<uint32_t>(i) : static_cast<uint32_t>(random());
      expected += label_term(rows[i], labels[i]);
      of_neighbours += label_term(first + static_cast<int64_t>(i), labels[i]);
    }
    const auto n = static_cast<int64_t>(count);
    EXPECT_TRUE(sum_of_label_terms(rows.data(), 0, labels.data(), n) == expected) << count;
    std::vector<int64_t> from_seven = rows;
    for (int64_t& row : from_seven) row -= 7;
    EXPECT_TRUE(sum_of_label_terms(from_seven.data(), 7, labels.data(), n) == expected) << count;
    EXPECT_TRUE(sum_of_label_terms(nullptr, first, labels.data(), n) == of_neighbours) << count;
    for (const PhiloxLanes& lanes : philox_lanes()) {
      LabelSum sum = ~LabelSum{0} - 5;  // goes on from what is there
      lanes.label_terms(rows.data(), 0, labels.data(), n, &sum);
      EXPECT_TRUE(sum == expected - 6) << count << " " << lanes.name;
    }
  }
}

TEST(Draws, AreAllThatAreSmallEnough) {
  const uint64_t key = 0x0123456789abcdef;
  for (const int64_t first : {int64_t{0}, int64_t{5}, (int64_t{1} << 33) - 700}) {
    for (const int64_t count : {0, 1, 15, 16, 17, 1023, 1024, 1500}) {
      // The last two are the number of a row itself and the one before it.
      const uint64_t own = random_u64(key, static_cast<uint64_t>(first + count / 2), 7, Purpose::kOversample);
      for (const uint64_t most : {uint64_t{0}, uint64_t{1} << 56, uint64_t{1} << 63, ~uint64_t{0}, own, own - 1}) {
        std::vector<RowDraw> expected = {{1, -1}};  // what is there stays
        std::vector<RowDraw> found = expected;
        for (int64_t row = first; row < first + count; ++row) {
          const uint64_t u = random_u64(key, static_cast<uint64_t>(row), 7, Purpose::kOversample);
          if (u <= most) expected.push_back({u, row});
        }
        append_draws({key, 7, Purpose::kOversample, most}, first, first + count, found);
        EXPECT_EQ(found, expected) << first << " " << count << " " << most;
        for (const PhiloxLanes& lanes : philox_lanes()) {
          found.resize(static_cast<size_t>(count) + 1);
          found.resize(1 + static_cast<size_t>(lanes.draws({key, 7, Purpose::kOversample, most}, first, first + count,
                                                           found.data() + 1)));
          EXPECT_EQ(found, expected) << first << " " << count << " " << most << " " << lanes.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
