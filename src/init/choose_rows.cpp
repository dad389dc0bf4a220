#include "init/choose_rows.h"

#include "core/philox_lanes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace manymeans {
namespace {

// All draws up to and including `most`.
std::vector<RowDraw> draws_below(int64_t n, uint64_t seed, uint64_t most, ThreadPool& pool) {
  const DrawTask task = {seed, 0, Purpose::kRandomRow, most};
  std::vector<std::vector<RowDraw>> found(static_cast<size_t>(pool.size()));
  pool.for_each_range(n, 1 << 16, [&](int worker, int64_t first, int64_t last) {
    append_draws(task, first, last, found[static_cast<size_t>(worker)]);
  });
  for (size_t i = 1; i < found.size(); ++i) found[0].insert(found[0].end(), found[i].begin(), found[i].end());
  return std::move(found[0]);
}

}  // namespace

std::vector<int64_t> random_rows(int64_t n, int64_t count, uint64_t seed, std::span<const int64_t> excluded,
                                 ThreadPool& pool) {
  const std::unordered_set<int64_t> taken(excluded.begin(), excluded.end());
  const int64_t wanted = std::min(n, count + static_cast<int64_t>(taken.size()));
  // Keep only draws that can be among the smallest: a little more than the expected share, more if that failed.
  std::vector<RowDraw> draws;
  for (double share =
           (static_cast<double>(wanted) + 8 * std::sqrt(static_cast<double>(wanted)) + 64) / static_cast<double>(n);
       static_cast<int64_t>(draws.size()) < wanted; share *= 2) {
    const uint64_t most = share >= 1 ? ~uint64_t{0} : static_cast<uint64_t>(std::ldexp(share, 64));
    draws = draws_below(n, seed, most, pool);
  }
  std::sort(draws.begin(), draws.end());
  std::vector<int64_t> rows;
  for (const auto& [u, row] : draws) {
    if (static_cast<int64_t>(rows.size()) == count) break;
    if (!taken.contains(row)) rows.push_back(row);
  }
  return rows;
}

std::vector<int64_t> rows_by_weight(const Input& input, std::span<const uint64_t> u) {
  const int64_t n = input.points.n;
  std::vector<int64_t> rows(u.size());
  const auto target = [](uint64_t number, uint64_t total) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(number) * total) >> 64);
  };
  if (input.weights.empty()) {
    for (size_t i = 0; i < u.size(); ++i) rows[i] = static_cast<int64_t>(target(u[i], static_cast<uint64_t>(n)));
    return rows;
  }
  uint64_t total = 0;
  for (int64_t i = 0; i < n; ++i) total += static_cast<uint64_t>(input.integer_weight(i));
  std::vector<size_t> order(u.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return u[a] < u[b]; });
  uint64_t prefix = 0;
  int64_t row = -1;
  for (const size_t i : order) {  // targets ascend, so one walk over the rows serves all
    const uint64_t wanted = target(u[i], total);
    while (row < 0 || prefix <= wanted) prefix += static_cast<uint64_t>(input.integer_weight(++row));
    rows[i] = row;
  }
  return rows;
}

}  // namespace manymeans
