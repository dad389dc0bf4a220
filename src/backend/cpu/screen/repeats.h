// Prototypes with equal bits; a screen takes the first of them, which wins every tie.
#pragma once

#include <manymeans/points.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace manymeans {

/// Finds prototypes that repeat an earlier one bit for bit.
class Repeats {
 public:
  explicit Repeats(const Matrix& prototypes)
      : bytes_(prototypes.bytes().data()),
        row_(static_cast<size_t>(prototypes.columns()) * size_of(prototypes.type())) {}

  /// The earlier one, or k.
  int64_t first_like(int64_t k) {
    const std::byte* row = bytes_ + static_cast<size_t>(k) * row_;
    const auto [first, last] = rows_.equal_range(XXH3_64bits(row, row_));
    for (auto it = first; it != last; ++it) {
      if (std::memcmp(bytes_ + static_cast<size_t>(it->second) * row_, row, row_) == 0) return it->second;
    }
    rows_.emplace(XXH3_64bits(row, row_), k);
    return k;
  }

 private:
  const std::byte* bytes_;
  size_t row_;
  std::unordered_multimap<uint64_t, int64_t> rows_;
};

}  // namespace manymeans
