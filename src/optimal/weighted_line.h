// Weighted values on a line, and the parts into which they are cut.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// Values in ascending order, each with an integer weight above 0. The sum of all weights is below 2^63.
struct WeightedLine {
  std::vector<double> values = {};
  std::vector<int64_t> weights = {};
  const std::atomic<bool>* abort = nullptr;  ///< check_abort() looks at it while the line is cut

  size_t size() const { return values.size(); }
};

/// Cuts a line into k parts with the smallest sum of weighted squared distances to the means of the parts. Returns the
/// end of each part: part c holds the values [ends[c - 1], ends[c]). The decision is exact. The optimum
/// whose last part is the longest wins a tie. If that leaves several, the last but one decides, and so on.
/// The values are distinct and 1 <= k <= their number. Expected time O(n log n) for n values; many exact ties add
/// O(k n log n) comparisons of exact numbers.
std::vector<size_t> optimal_parts(const WeightedLine& line, size_t k);

}  // namespace manymeans
