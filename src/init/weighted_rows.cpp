#include "init/weighted_rows.h"

#include "core/random.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <unordered_map>
#include <utility>

namespace manymeans {
namespace {

// A draw walks through one block; a model that is drawn holds 8 bytes a block.
constexpr int64_t kBlock = 256;

// Prefix sums that can be lowered (a Fenwick tree): finding and lowering cost the logarithm of their number.
class Prefixes {
 public:
  explicit Prefixes(std::vector<uint64_t> values) : tree_(std::move(values)) {
    for (size_t i = 1; i <= tree_.size(); ++i) {
      const size_t above = i + (i & -i);
      if (above <= tree_.size()) tree_[above - 1] += tree_[i - 1];
    }
  }

  // The first index whose prefix, itself included, is above `target`; and what is left of `target` there.
  std::pair<size_t, uint64_t> find(uint64_t target) const {
    size_t before = 0;
    for (size_t step = std::bit_floor(tree_.size()); step > 0; step /= 2) {
      if (before + step > tree_.size() || tree_[before + step - 1] > target) continue;
      before += step;
      target -= tree_[before - 1];
    }
    return {before, target};
  }

  void lower(size_t index, uint64_t by) {
    for (size_t i = index + 1; i <= tree_.size(); i += i & -i) tree_[i - 1] -= by;
  }

 private:
  std::vector<uint64_t> tree_;
};

// The rows of one model that are still there.
class Urn {
 public:
  Urn(const Input& input, std::vector<uint64_t> sums, uint64_t total)
      : input_(input), prefixes_(std::move(sums)), total_(total) {}

  uint64_t total() const { return total_; }

  void take(int64_t row) {
    const auto weight = static_cast<uint64_t>(input_.integer_weight(row));
    prefixes_.lower(static_cast<size_t>(row / kBlock), weight);
    total_ -= weight;
    taken_[row / kBlock].push_back(row);
  }

  // The row that u means.
  int64_t find(uint64_t u) const {
    const auto target = static_cast<uint64_t>((static_cast<unsigned __int128>(u) * total_) >> 64);
    const auto [block, rest] = prefixes_.find(target);
    const int64_t first = static_cast<int64_t>(block) * kBlock;
    const int64_t rows = std::min(kBlock, input_.points.n - first);
    std::array<uint64_t, kBlock> weights{};
    for (int64_t i = 0; i < rows; ++i) {
      weights[static_cast<size_t>(i)] = static_cast<uint64_t>(input_.integer_weight(first + i));
    }
    if (const auto taken = taken_.find(static_cast<int64_t>(block)); taken != taken_.end()) {
      for (const int64_t row : taken->second) weights[static_cast<size_t>(row - first)] = 0;
    }
    uint64_t prefix = weights[0];
    size_t i = 0;
    while (prefix <= rest) prefix += weights[++i];
    return first + static_cast<int64_t>(i);
  }

 private:
  const Input& input_;
  Prefixes prefixes_;
  uint64_t total_;
  std::unordered_map<int64_t, std::vector<int64_t>> taken_;  // of each block
};

}  // namespace

WeightedRows::WeightedRows(const Input& input, ThreadPool& pool) : input_(input) {
  const int64_t n = input.points.n;
  sums_.resize(static_cast<size_t>((n + kBlock - 1) / kBlock));
  std::atomic<bool> differ{false};
  constexpr int64_t kBlocksAtOnce = 256;
  pool.for_each_range(static_cast<int64_t>(sums_.size()), kBlocksAtOnce, [&](int, int64_t begin, int64_t end) {
    bool differ_here = false;  // told once: threads that all write it at every row wait for each other
    for (int64_t block = begin; block < end; ++block) {
      uint64_t sum = 0;
      for (int64_t row = block * kBlock; row < std::min(n, (block + 1) * kBlock); ++row) {
        sum += static_cast<uint64_t>(input.integer_weight(row));
        differ_here |= input.weight(row) != input.weight(0);
      }
      sums_[static_cast<size_t>(block)] = sum;
    }
    if (differ_here) differ = true;
  });
  for (const uint64_t sum : sums_) total_ += sum;
  all_equal_ = !differ;
}

std::vector<int64_t> WeightedRows::draw(const RowWish& wish) const {
  constexpr uint32_t kByWeight = 1;  // draw 0 is the number of a row, this one is that of a place
  Urn urn(input_, sums_, total_);
  for (const int64_t row : wish.excluded) urn.take(row);
  std::vector<int64_t> rows;
  while (static_cast<int64_t>(rows.size()) < wish.count && urn.total() > 0) {
    const uint64_t place = wish.excluded.size() + rows.size();
    rows.push_back(urn.find(random_u64(wish.seed, place, kByWeight, Purpose::kRandomRow)));
    urn.take(rows.back());
  }
  return rows;
}

}  // namespace manymeans
