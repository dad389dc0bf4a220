// Lines of a factor that lie in the host's memory, on their way to being packed on the device.
#pragma once

#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/staging.h"
#include "core/aligned_buffer.h"
#include "product/cuda/packed_factor.h"
#include "product/multiplier.h"

#include <cstddef>
#include <cstdint>

namespace manymeans::cuda {

/// Piece after piece goes through one array of the device, where it is packed before the next one comes.
class LineUpload {
 public:
  /// `piece_bytes`: of that array, unless one unit of what is packed is more.
  LineUpload(const ProductLines& lines, int64_t piece_bytes, ThreadPool& pool);

  /// Returns the bytes of device memory for pieces of `lines` lines.
  int64_t bytes(int64_t lines) const;
  /// Before the first pack().
  void prepare(int64_t max_lines);
  /// Lines [first, first + to.count).
  void pack(int64_t first, const PackedLines& to, bool wide, const Stream& stream);

 private:
  // Inner values are adjacent in memory: the values of a line, or all lines' values at one depth.
  struct Piece {
    const std::byte* from;
    int64_t outer_stride, inner_stride;  // in values
    int64_t outer, inner;
  };

  bool along_lines() const { return std::abs(lines_.step) <= std::abs(lines_.stride); }
  int64_t outer_unit() const { return along_lines() ? kBandLines : kPackDepth; }
  int64_t piece_outer(int64_t inner) const;
  void send(const Piece& piece, const Stream& stream);
  void gather(const Piece& piece);

  ProductLines lines_;
  int64_t value_bytes_, piece_bytes_;
  ThreadPool& pool_;
  device::Staging staging_;
  DeviceBuffer<std::byte> raw_;
  AlignedBuffer<std::byte> gathered_;
};

}  // namespace manymeans::cuda
