// Pairs of rows, and which of many clusterings put them together: co-association in memory linear in the pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Pairs of different rows: all of them if there are at most `wanted`, else `wanted` pairs that are drawn by counter
/// (contract, "Consensus").
class RowPairs {
 public:
  RowPairs(int64_t rows, int64_t wanted, uint64_t seed);

  int64_t size() const { return size_; }
  /// The next `count` pairs, or those that are left: the rows of pair t are numbers 2 t and 2 t + 1.
  std::vector<int64_t> next(int64_t count);

 private:
  int64_t rows_, size_;
  uint64_t seed_;
  bool all_;
  int64_t done_ = 0;
  int64_t first_ = 0, second_ = 0;  // of all pairs: the last one that was given
};

/// Which members have the rows of a pair in one cluster: a bit for each member and pair.
class CoAssociation {
 public:
  CoAssociation() = default;
  explicit CoAssociation(size_t members) : bits_(members) {}

  /// The labels that this member gives to the rows of the next pairs, as RowPairs has them. All members get the same
  /// pairs; only the last call of a member may have a number of them that is no multiple of 64.
  void add(size_t member, std::span<const uint32_t> labels);
  /// A further member.
  void add_member(std::span<const uint32_t> labels) {
    bits_.emplace_back();
    add(bits_.size() - 1, labels);
  }

  int64_t pairs() const { return bits_.empty() ? 0 : bits_[0].pairs; }
  /// Adjusted Rand index of two members over these pairs.
  double adjusted_rand(size_t a, size_t b) const;
  /// The share of pairs that more than a tenth and fewer than nine tenths of the members have together.
  double ambiguous() const;

 private:
  struct Bits {
    std::vector<uint64_t> words = {};
    int64_t pairs = 0;
  };
  std::vector<Bits> bits_;
};

}  // namespace manymeans
