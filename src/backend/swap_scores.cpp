#include "backend/swap_scores.h"

#include "core/data_type.h"
#include "data/gather.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans {

std::vector<int64_t> SwapScores::draw(const SearchDraw& draw, int64_t count) {
  std::vector<int64_t> rows;
  const std::span<const double> sums = prefix();
  const double total = sums.back();
  if (!(total > 0) || std::isinf(total)) return rows;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t u = random_u64(draw.key, draw.index, draw.draw + static_cast<uint32_t>(i), draw.purpose);
    const double target = static_cast<double>(u) * 0x1p-64 * total;
    auto found = std::upper_bound(sums.begin(), sums.end(), target);
    if (found == sums.end()) found = std::lower_bound(sums.begin(), sums.end(), total);
    rows.push_back(found - sums.begin());
  }
  return rows;
}

std::vector<Swap> SwapScores::swaps(std::span<const int64_t> rows, ThreadPool& pool) {
  if (rows.empty()) return {};
  std::vector<Swap> found = best_swaps(rows, pool);
  std::erase_if(found, [](const Swap& swap) { return !(swap.change < std::numeric_limits<double>::infinity()); });
  std::ranges::stable_sort(found, {}, &Swap::change);
  return found;
}

void SwapScores::put(std::span<const Swap> swaps, Matrix& centroids) const {
  if (swaps.empty()) return;
  std::vector<int64_t> rows;
  for (const Swap& swap : swaps) rows.push_back(swap.row);
  const Matrix values = gather_rows(input_, rows);
  as_float_type(centroids.type(), [&]<class T>(T) {
    const int64_t d = centroids.columns();
    for (size_t i = 0; i < swaps.size(); ++i) {
      std::copy_n(values.values<T>().begin() + static_cast<int64_t>(i) * d, d,
                  centroids.values<T>().begin() + swaps[i].removed * d);
    }
  });
}

}  // namespace manymeans
