// The points as the float32 screen sees them, packed by the host: for devices without binary64.
#pragma once

#include "backend/frame.h"
#include "core/aligned_buffer.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstdint>
#include <vector>

namespace manymeans::opencl {

/// y = (x - centre) * 2^exponent of every row, rounded to float32, and its norm, rounded up, laid out as
/// kernel_types.h says; in whole blocks, the last of which ends with zeros.
class PackedRows {
 public:
  PackedRows(const Input& input, const Frame& frame, ThreadPool& pool);

  /// The rows from `first` on, which begins a block.
  const float* from(int64_t first) const { return values_.data() + first * width_; }

 private:
  int64_t width_;  // values of a row
  AlignedBuffer<float> values_;
};

}  // namespace manymeans::opencl
