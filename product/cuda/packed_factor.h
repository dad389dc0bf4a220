// A factor's packed lines, and where they lie.
#pragma once

#include "product/cuda/memory_cutter.h"
#include "product/cuda/packed_product.h"

#include <cstdint>

namespace manymeans::cuda {

/// How long lines are packed.
struct LineShape {
  int64_t depth;
  bool wide;           // float64
  bool sliced = wide;  // there are slices, and the values behind them

  int64_t chunks() const;
  int64_t blocks() const;
  int64_t slices() const { return sliced ? kValueSlices + 1 : 1; }
  /// Bytes of `lines` lines, with their measures.
  int64_t bytes(int64_t lines) const;
};

inline int64_t padded_lines(int64_t lines) {
  return (lines + kLinePadding - 1) / kLinePadding * kLinePadding;
}

class PackedFactor {
 public:
  /// Cuts off the memory of max_lines lines. Call once for the size and once for the memory.
  void lay_out(const LineShape& shape, int64_t max_lines, MemoryCutter& from);

  /// Sets the number of lines.
  void begin(int64_t lines);
  const PackedLines& lines() const { return lines_; }

 private:
  PackedLines lines_;
};

}  // namespace manymeans::cuda
