#include "backend/seed_choice.h"

#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans {

WideInt SeedTerms::total() const {
  int64_t limbs[kDistanceLimbs] = {};
  for (size_t i = 0; i < blocks.size(); ++i) limbs[i % kDistanceLimbs] += blocks[i];
  return recombine(limbs, format);
}

std::vector<int64_t> SeedTerms::pick(std::span<const WideInt> targets) const {
  std::vector<size_t> order(targets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return targets[a] < targets[b]; });
  std::vector<int64_t> rows(targets.size());
  WideInt before;  // of all blocks before `at`
  int64_t at = 0;
  for (const size_t i : order) {  // they ascend: one walk over the blocks serves all
    const WideInt& wanted = targets[i];
    for (;; ++at) {
      WideInt next = before;
      next += recombine(blocks.data() + at * kDistanceLimbs, format);
      if (next > wanted) break;
      before = next;
    }
    const int64_t last = std::min(n, (at + 1) * block_rows);
    int64_t limbs[kDistanceLimbs] = {};
    int64_t row = at * block_rows;
    for (const WideInt rest = wanted - before; row < last; ++row) {
      add(row, limbs);
      if (recombine(limbs, format) > rest) break;
    }
    rows[i] = row;
  }
  return rows;
}

void SeedTerms::append_sample(const SeedSample& sample, int64_t first, int64_t last,
                              std::vector<int64_t>& found) const {
  // A quick comparison in binary64 decides all but the rows within 2^-40 of the threshold.
  const double ratio = std::ldexp(static_cast<double>(sample.factor), 64) / sample.total.to_double();
  for (int64_t row = first; row < last; ++row) {
    int64_t limbs[kDistanceLimbs] = {};
    add(row, limbs);
    const uint64_t u =
        random_u64(sample.key, static_cast<uint64_t>(first_row + row), sample.draw, Purpose::kOversample);
    const double term = rounded_sum(limbs, format) * ratio;
    const double number = static_cast<double>(u);
    if (number > term * (1 + 0x1p-40)) continue;
    if (number < term * (1 - 0x1p-40) ||
        sample.total.times(u) < recombine(limbs, format).times(static_cast<uint64_t>(sample.factor)).shift_left_64()) {
      found.push_back(row);
    }
  }
}

}  // namespace manymeans
