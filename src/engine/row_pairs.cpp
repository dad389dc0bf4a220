#include "engine/row_pairs.h"

#include "core/random.h"

#include <algorithm>
#include <array>
#include <bit>

namespace manymeans {
namespace {

// Of `rows` rows, but no more than `most`.
int64_t all_pairs(int64_t rows, int64_t most) {
  const auto count = static_cast<unsigned __int128>(rows) * static_cast<uint64_t>(rows - 1) / 2;
  return count > static_cast<uint64_t>(most) ? most : static_cast<int64_t>(count);
}

}  // namespace

RowPairs::RowPairs(int64_t rows, int64_t wanted, uint64_t seed)
    : rows_(rows),
      size_(rows < 2 ? 0 : all_pairs(rows, wanted)),
      seed_(seed),
      all_(rows < 2 || all_pairs(rows, wanted + 1) <= wanted) {}

std::vector<int64_t> RowPairs::next(int64_t count) {
  count = std::min(count, size_ - done_);
  std::vector<int64_t> found;
  found.reserve(static_cast<size_t>(2 * count));
  for (const int64_t end = done_ + count; done_ < end; ++done_) {
    if (all_) {
      if (++second_ == rows_) second_ = ++first_ + 1;
    } else {
      const auto index = static_cast<uint64_t>(done_);
      const auto draw = [&](uint32_t number, int64_t rows) {
        const uint64_t u = random_u64(seed_, index, number, Purpose::kSampledPair);
        return static_cast<int64_t>(random_below(u, static_cast<uint64_t>(rows)));
      };
      first_ = draw(0, rows_);
      second_ = draw(1, rows_ - 1);
      second_ += second_ >= first_;
    }
    found.push_back(first_);
    found.push_back(second_);
  }
  return found;
}

void CoAssociation::add(size_t member, std::span<const uint32_t> labels) {
  Bits& bits = bits_[member];
  for (size_t i = 0; i + 1 < labels.size(); i += 2, ++bits.pairs) {
    if (bits.pairs % 64 == 0) bits.words.push_back(0);
    bits.words.back() |= static_cast<uint64_t>(labels[i] == labels[i + 1]) << (bits.pairs % 64);
  }
}

double CoAssociation::adjusted_rand(size_t a, size_t b) const {
  int64_t both = 0, in_a = 0, in_b = 0;
  for (size_t word = 0; word < bits_[a].words.size(); ++word) {
    const uint64_t of_a = bits_[a].words[word], of_b = bits_[b].words[word];
    both += std::popcount(of_a & of_b);
    in_a += std::popcount(of_a);
    in_b += std::popcount(of_b);
  }
  const int64_t only_a = in_a - both, only_b = in_b - both;
  if (only_a == 0 && only_b == 0) return 1;
  const int64_t neither = pairs() - both - only_a - only_b;
  const int64_t above = both * neither - only_a * only_b;  // of at most 2^30 pairs: below 2^60
  const int64_t below = (both + only_a) * (only_a + neither) + (both + only_b) * (only_b + neither);
  return 2 * static_cast<double>(above) / static_cast<double>(below);
}

double CoAssociation::ambiguous() const {
  const size_t members = bits_.size();
  int64_t found = 0;
  for (int64_t first = 0; first < pairs(); first += 64) {
    std::array<size_t, 64> together = {};
    const auto count = static_cast<size_t>(std::min<int64_t>(64, pairs() - first));
    for (const Bits& bits : bits_) {
      const uint64_t word = bits.words[static_cast<size_t>(first / 64)];
      for (size_t t = 0; t < count; ++t) together[t] += word >> t & 1;
    }
    found += std::count_if(together.begin(), together.begin() + static_cast<std::ptrdiff_t>(count),
                           [&](size_t its) { return 10 * its > members && 10 * its < 9 * members; });
  }
  return static_cast<double>(found) / static_cast<double>(pairs());
}

}  // namespace manymeans
