// Rows that change their clusters, and the changes of statistics that follow.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/sums/term_scales.h"
#include "core/aligned_buffer.h"
#include "data/input.h"
#include "data/statistics.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// A change of statistics in units; of one thread.
struct UnitDelta {
  AlignedBuffer<int64_t> sums;  // k x stride
  std::vector<int64_t> counts;
  std::vector<uint32_t> terms;
  std::vector<int64_t> weights;  // k: sums of q, of products of weighted rows

  UnitDelta() = default;
  UnitDelta(int64_t k, int64_t stride);
  int64_t k() const { return static_cast<int64_t>(terms.size()); }
  UnitSums sums_for(const UnitScales& scales, int64_t d);
};

/// A change of statistics made by one thread: in units where they fit, else in limbs with a mark at every cluster that
/// it touched. Counted rows take both ways: most of them once, the others in limbs.
struct Delta {
  UnitDelta units;
  Statistics statistics;
  std::vector<uint8_t> touched;
};

/// One row that moved; `from` is kNoLabel in the first pass.
struct Change {
  int64_t row;
  uint32_t from;
  uint32_t to;
};
constexpr uint32_t kNoLabel = ~uint32_t{0};

/// Many of them.
struct Changes {
  std::vector<int64_t> rows;
  std::vector<uint32_t> from, to;

  int64_t size() const { return static_cast<int64_t>(rows.size()); }
  Change at(int64_t i) const {
    const auto c = static_cast<size_t>(i);
    return {rows[c], from[c], to[c]};
  }
  /// The rows first + place, whose labels differ.
  void append(int64_t first, std::span<const uint32_t> places, const uint32_t* old_labels, const uint32_t* labels);
  /// Moves the rows whose multiplicity is above one to the end of `multiples`.
  void take_multiples(const Input& input, Changes& multiples);
  void clear();
};

/// Changes sorted by cluster. Rows that come to cluster k are rows[begin[2 k]] .. rows[begin[2 k + 1] - 1]; rows that
/// leave it follow.
struct SortedChanges {
  std::vector<int64_t> begin, next;
  std::vector<int64_t> rows;

  void sort(const Changes& changes, int64_t k);
};

}  // namespace manymeans
