// A case's rows dealt out to ranks.
#pragma once

#include "conformance/cases.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace manymeans::test {

/// Where the shards of n rows end: uneven ones, of which some are empty where there are more than two. With as many
/// ranks as rows, every seventh seed gives each of them one row.
inline std::vector<int64_t> shard_ends(int64_t n, int ranks, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> ends;
  for (int r = 1; r < ranks; ++r) {
    if (n == ranks && seed % 7 == 0) {
      ends.push_back(r);
    } else if (!ends.empty() && random() % 4 == 0) {
      ends.push_back(ends.back());
    } else {
      ends.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)));
    }
  }
  std::sort(ends.begin(), ends.end());
  ends.push_back(n);
  return ends;
}

/// The points and weights of one rank.
struct Part {
  PointsView points;
  std::span<const double> weights;
};

inline Part part_of(const PointsView& points, std::span<const double> weights, const std::vector<int64_t>& ends,
                    int rank) {
  const int64_t first = rank == 0 ? 0 : ends[static_cast<size_t>(rank) - 1];
  const int64_t rows = ends[static_cast<size_t>(rank)] - first;
  Part part{points, {}};
  part.points.n = rows;
  part.points.data = static_cast<const std::byte*>(points.data) +
                     static_cast<size_t>(first) * static_cast<size_t>(points.d) * size_of(points.type);
  if (!weights.empty()) part.weights = weights.subspan(static_cast<size_t>(first), static_cast<size_t>(rows));
  return part;
}

inline Part part_of(const Case& made, const std::vector<int64_t>& ends, int rank) {
  return part_of(made.points(), made.weights, ends, rank);
}

}  // namespace manymeans::test
