#include "init/weighted_rows.h"

#include "core/random.h"
#include "data/gather.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
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

// Where the blocks of all ranks are.
struct Blocks {
  std::vector<int64_t> first_block;  // of each rank, and the end
  std::vector<int64_t> first_row;    // likewise

  explicit Blocks(const Shard& shard) : first_block{0}, first_row{0} {
    for (const int64_t end : shard.ends) {
      first_block.push_back(first_block.back() + (end - first_row.back() + kBlock - 1) / kBlock);
      first_row.push_back(end);
    }
  }
  int64_t of_row(const Shard& shard, int64_t row) const {
    const auto rank = static_cast<size_t>(shard.owner(row));
    return first_block[rank] + (row - first_row[rank]) / kBlock;
  }
  // The rank that has a block.
  int owner(int64_t block) const {
    return static_cast<int>(std::upper_bound(first_block.begin() + 1, first_block.end(), block) -
                            (first_block.begin() + 1));
  }
};

struct WeightedRow {
  int64_t row;
  int64_t weight;
};

// The rows of one model that are still there.
class RemainingRows {
 public:
  RemainingRows(const Input& input, std::vector<uint64_t> sums, uint64_t total)
      : input_(input), blocks_(input.shard), prefixes_(std::move(sums)), total_(total) {}

  uint64_t total() const { return total_; }

  void take(const WeightedRow& taken) {
    const int64_t block = blocks_.of_row(input_.shard, taken.row);
    const auto weight = static_cast<uint64_t>(taken.weight);
    prefixes_.lower(static_cast<size_t>(block), weight);
    total_ -= weight;
    taken_[block].push_back(taken.row);
  }

  // Returns the row that u means: the rank that has it tells the others.
  WeightedRow find(uint64_t u) const {
    const uint64_t target = random_below(u, total_);
    const auto [block, rest] = prefixes_.find(target);
    const int owner = blocks_.owner(static_cast<int64_t>(block));
    WeightedRow found{};
    if (owner == input_.comm->rank()) found = find_in_block(static_cast<int64_t>(block), rest);
    input_.comm->broadcast(std::span(&found, 1), owner);
    return found;
  }

 private:
  WeightedRow find_in_block(int64_t block, uint64_t rest) const {
    const auto rank = static_cast<size_t>(input_.comm->rank());
    const int64_t first = (block - blocks_.first_block[rank]) * kBlock;
    const int64_t rows = std::min(kBlock, input_.points.n - first);
    std::array<int64_t, kBlock> weights{};
    for (int64_t i = 0; i < rows; ++i) weights[static_cast<size_t>(i)] = input_.integer_weight(first + i);
    const int64_t number = input_.shard.first + first;
    if (const auto taken = taken_.find(block); taken != taken_.end()) {
      for (const int64_t row : taken->second) weights[static_cast<size_t>(row - number)] = 0;
    }
    auto prefix = static_cast<uint64_t>(weights[0]);
    size_t i = 0;
    while (prefix <= rest) prefix += static_cast<uint64_t>(weights[++i]);
    return {number + static_cast<int64_t>(i), weights[i]};
  }

  const Input& input_;
  Blocks blocks_;
  Prefixes prefixes_;
  uint64_t total_;
  std::unordered_map<int64_t, std::vector<int64_t>> taken_;  // of each block
};

// Returns whether the weights of the rows of all ranks are one number.
bool same_everywhere(Comm& comm, bool differ_here, int64_t first_weight, bool any) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  int64_t seen[] = {differ_here, any ? first_weight : kMin, any ? -first_weight : kMin};
  comm.max(seen);
  return seen[0] == 0 && seen[1] == -seen[2];
}

}  // namespace

// Sets all_equal_, too.
std::vector<uint64_t> WeightedRows::own_sums(ThreadPool& pool) {
  const int64_t n = input_.points.n;
  std::vector<uint64_t> sums(static_cast<size_t>((n + kBlock - 1) / kBlock));
  std::atomic<bool> differ{false};
  constexpr int64_t kBlocksAtOnce = 256;
  pool.for_each_range(static_cast<int64_t>(sums.size()), kBlocksAtOnce, [&](int, int64_t begin, int64_t end) {
    bool differ_here = false;  // told once: threads that all write it at every row wait for each other
    for (int64_t block = begin; block < end; ++block) {
      uint64_t sum = 0;
      for (int64_t row = block * kBlock; row < std::min(n, (block + 1) * kBlock); ++row) {
        sum += static_cast<uint64_t>(input_.integer_weight(row));
        differ_here |= input_.weight(row) != input_.weight(0);
      }
      sums[static_cast<size_t>(block)] = sum;
    }
    if (differ_here) differ = true;
  });
  all_equal_ = same_everywhere(*input_.comm, differ, n > 0 ? input_.integer_weight(0) : 0, n > 0);
  return sums;
}

WeightedRows::WeightedRows(const Input& input, ThreadPool& pool) : input_(input) {
  sums_ = own_sums(pool);
  if (!input.comm->alone()) sums_ = input.comm->gather_flat(std::span<const uint64_t>(sums_));
  for (const uint64_t sum : sums_) total_ += sum;
}

std::vector<int64_t> WeightedRows::draw(const RowWish& wish) const {
  constexpr uint32_t kByWeight = 1;  // draw 0 is the number of a row, this one is the draw of a place
  RemainingRows remaining(input_, sums_, total_);
  const std::vector<int64_t> weights = weights_from_all(input_, wish.excluded);
  for (size_t i = 0; i < weights.size(); ++i) remaining.take({wish.excluded[i], weights[i]});
  std::vector<int64_t> rows;
  while (static_cast<int64_t>(rows.size()) < wish.count && remaining.total() > 0) {
    const uint64_t place = wish.excluded.size() + rows.size();
    const WeightedRow found = remaining.find(random_u64(wish.seed, place, kByWeight, Purpose::kRandomRow));
    rows.push_back(found.row);
    remaining.take(found);
  }
  return rows;
}

}  // namespace manymeans
