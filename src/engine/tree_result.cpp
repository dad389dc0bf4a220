#include <manymeans/tree.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans {

TreeBalance TreeResult::balance() const {
  const std::vector<int64_t>& sizes = fit.models[0].counts;
  TreeBalance balance;
  balance.smallest = *std::ranges::min_element(sizes);
  balance.largest = *std::ranges::max_element(sizes);
  balance.empty = std::ranges::count(sizes, 0);
  const double k = static_cast<double>(sizes.size());
  const double mean = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})) / k;
  double squares = 0;
  for (const int64_t size : sizes) squares += (static_cast<double>(size) - mean) * (static_cast<double>(size) - mean);
  balance.variation = std::sqrt(squares / k) / mean;
  balance.max_to_mean = static_cast<double>(balance.largest) / mean;
  return balance;
}

std::string TreeResult::digest() const {
  std::vector<std::string> all = splits;
  all.push_back(fit.models[0].digest());
  return combined_digest(all);
}

}  // namespace manymeans
