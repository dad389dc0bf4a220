// Where the parts of a value stand in the steps of a bfloat16 format (screen_kernels.h has the layouts).
#pragma once

#include "backend/cpu/kernels/screen_kernels.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// The bfloat16 next to v (ties to even), as the upper half of its float; 0 where a unit would flush it.
uint16_t to_bfloat16(float v);
float from_bfloat16(uint16_t bits);

/// x . z as products of high and low parts: x_hi z_hi for kBfloat16, and x_lo z_hi + x_hi z_lo besides for
/// kBfloat16Pair, which leaves out x_lo z_lo.
class MatrixLayout {
 public:
  /// A copy of the high or low parts: that of value j stands in slot first + j; slot s is value s % 32 (64 for bytes)
  /// of its step.
  struct Copy {
    bool low;
    int64_t first;
  };

  MatrixLayout() = default;
  MatrixLayout(ScreenFormat format, int64_t d);

  /// Valid as long as this object.
  MatrixSteps steps() const;
  const std::vector<Copy>& tile_copies() const { return tile_copies_; }
  const std::vector<Copy>& span_copies() const { return span_copies_; }
  size_t tile_bytes() const { return static_cast<size_t>(tile_steps_) * kStepBytes; }
  size_t span_bytes() const { return static_cast<size_t>(span_steps_) * kStepBytes; }
  int64_t products() const { return static_cast<int64_t>(tile_products_.size()); }

  /// Bytes from the beginning of a tile of 32 rows or a span of 32 columns.
  size_t tile_offset(int64_t slot, int64_t row) const {
    const int64_t byte = slot * part_bytes_;  // of one row
    return static_cast<size_t>(byte / 64 * kStepBytes + row / 16 * 1024 + byte % 64 / 4 * 64 + row % 16 * 4 + byte % 4);
  }
  size_t span_offset(int64_t slot, int64_t column) const {
    const int64_t byte = slot * part_bytes_;
    return static_cast<size_t>(byte / 64 * kStepBytes + column / 16 * 1024 + column % 16 * 64 + byte % 64);
  }
  /// Of one part of a value: 2, or 1.
  int64_t part_bytes() const { return part_bytes_; }

 private:
  static constexpr int64_t kStepBytes = 2048;

  void add_product(int x, int z);
  void lay_out_bytes(int64_t d);

  int64_t part_bytes_ = 2;

  int tile_steps_ = 0;
  int span_steps_ = 0;
  int whole_ = 0;
  std::vector<Copy> tile_copies_, span_copies_;
  std::vector<int32_t> tile_products_, span_products_;
};

}  // namespace manymeans
