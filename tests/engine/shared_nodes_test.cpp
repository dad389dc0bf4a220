#include "engine/shared_nodes.h"

#include "comm/thread_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace manymeans::test {
namespace {

// Rows of each node on each rank.
std::vector<std::vector<int64_t>> random_rows(int ranks, int nodes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int64_t>> held(static_cast<size_t>(ranks));
  for (auto& part : held) {
    for (int i = 0; i < nodes; ++i) part.push_back(static_cast<int64_t>(random() % 2 * (random() % 9)));
  }
  return held;
}

// What a row is known by, wherever it is.
int64_t name_of_row(int64_t rank, int64_t node, int64_t row) {
  return 10'000 * node + 100 * rank + row;
}

TEST(SharedNodes, RowsGoToOneRankAndLabelsComeBack) {
  for (const size_t bytes : {sizeof(int64_t), size_t{3} << 20}) {  // pieces of all rows, and of five
    for (uint64_t seed = 0; seed < (bytes > 8 ? 4 : 40); ++seed) {
      const int ranks = 1 + static_cast<int>(seed % 4), nodes = 1 + static_cast<int>(seed % 5);
      const auto held = random_rows(ranks, nodes, seed);
      const auto errors = run_ranks(ranks, [&](Comm& comm) {
        const auto& own = held[static_cast<size_t>(comm.rank())];
        std::vector<int64_t> names;
        for (int node = 0; node < nodes; ++node) {
          for (int64_t i = 0; i < own[static_cast<size_t>(node)]; ++i)
            names.push_back(name_of_row(comm.rank(), node, i));
        }
        const SharedNodes shared(comm, own);
        std::vector<std::byte> rows(static_cast<size_t>(shared.groups().back()) * bytes);
        shared.send(
            bytes,
            [&](int64_t first, int64_t last, std::byte* to) {
              for (; first < last; ++first, to += bytes)
                std::memcpy(to, &names[static_cast<size_t>(first)], sizeof(int64_t));
            },
            rows.data());
        std::vector<int64_t> wanted, found;
        for (int node = 0; node < nodes; ++node) {
          for (int r = 0; r < ranks && shared.is_mine(static_cast<size_t>(node)); ++r) {
            const int64_t count = held[static_cast<size_t>(r)][static_cast<size_t>(node)];
            for (int64_t i = 0; i < count; ++i) wanted.push_back(name_of_row(r, node, i));
          }
        }
        for (size_t at = 0; at < rows.size(); at += bytes)
          std::memcpy(&found.emplace_back(), &rows[at], sizeof(int64_t));
        EXPECT_EQ(found, wanted) << seed;
        const std::vector<uint32_t> labels(found.begin(), found.end());
        EXPECT_EQ(shared.labels_of_held(labels), std::vector<uint32_t>(names.begin(), names.end())) << seed;
      });
      for (const std::string& error : errors) EXPECT_EQ(error, "");
    }
  }
}

TEST(SharedNodes, ARankGetsItsPartAndOneNodeMoreAtMost) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto held = random_rows(4, 1 + static_cast<int>(seed), seed);
    const auto errors = run_ranks(4, [&](Comm& comm) {
      const SharedNodes shared(comm, held[static_cast<size_t>(comm.rank())]);
      std::vector<int64_t> rows = shared.groups();
      int64_t all = rows.back(), largest = 0;
      for (size_t i = 1; i < rows.size(); ++i) largest = std::max(largest, rows[i] - rows[i - 1]);
      comm.sum({&all, 1});
      EXPECT_LE(rows.back(), all / 4 + comm.max(largest)) << seed;
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
  }
}

}  // namespace
}  // namespace manymeans::test
