// The places of a value's parts in the tiles and spans of a rounded format (screen_kernels.h has the layouts).
#pragma once

#include "backend/cpu/kernels/screen_kernels.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// The bfloat16 next to v (ties to even), as the upper half of its float; 0 where a unit would flush it.
uint16_t to_bfloat16(float v);
float from_bfloat16(uint16_t bits);

/// x . z as products of high and low parts. Format kBfloat16 has x_hi z_hi. Format kBfloat16Pair adds x_lo z_hi + x_hi
/// z_lo and leaves out x_lo z_lo.
class MatrixLayout {
 public:
  /// A copy of the high or low parts. Value j is in slot first + j; slot s is value s % 32 (64 for bytes) of its step.
  struct Copy {
    bool low;
    int64_t first;
  };

  MatrixLayout() = default;
  MatrixLayout(const ScreenKernels& screen, int64_t d);

  /// Valid as long as this object; kSteps.
  MatrixSteps steps() const;
  /// kLanes: words of a row or column; else 0.
  int64_t words() const { return words_; }
  const std::vector<Copy>& tile_copies() const { return tile_copies_; }
  const std::vector<Copy>& span_copies() const { return span_copies_; }
  size_t tile_bytes() const;
  size_t span_bytes() const;
  /// Instructions that a row and column take of a unit.
  int64_t products() const { return words_ > 0 ? words_ : static_cast<int64_t>(tile_products_.size()); }
  /// Products of numbers that are added up.
  int64_t terms() const { return words_ > 0 ? 2 * words_ : 32 * products(); }

  /// Bytes from the beginning of a tile or a span.
  size_t tile_offset(int64_t slot, int64_t row) const {
    const int64_t byte = slot * part_bytes_;  // of one row
    if (words_ > 0) return static_cast<size_t>((byte / 4 * tile_rows_ + row) * 4 + byte % 4);
    return static_cast<size_t>(byte / 64 * kStepBytes + row / 16 * 1024 + byte % 64 / 4 * 64 + row % 16 * 4 + byte % 4);
  }
  size_t span_offset(int64_t slot, int64_t column) const {
    const int64_t byte = slot * part_bytes_;
    const int64_t block = column / block_columns_ * block_columns_;
    if (words_ > 0) {
      return static_cast<size_t>((block * words_ + byte / 4 * block_columns_ + column - block) * 4 + byte % 4);
    }
    return static_cast<size_t>(byte / 64 * kStepBytes + column / 16 * 1024 + column % 16 * 64 + byte % 64);
  }
  /// Of one part of a value: 2, or 1.
  int64_t part_bytes() const { return part_bytes_; }

 private:
  static constexpr int64_t kStepBytes = 2048;

  void add_product(int x, int z);
  void lay_out_bytes(int64_t d);

  int64_t part_bytes_ = 2;
  int64_t words_ = 0;
  int64_t tile_rows_ = 0;
  int64_t block_columns_ = 1;

  int tile_steps_ = 0;
  int span_steps_ = 0;
  int whole_ = 0;
  std::vector<Copy> tile_copies_, span_copies_;
  std::vector<int32_t> tile_products_, span_products_;
};

}  // namespace manymeans
