// Lines of a factor as the kernels read them, packed by the host: panels of binary64, and what is known of each line.
#pragma once

#include "backend/multiplier.h"
#include "core/aligned_buffer.h"

#include <cstdint>
#include <vector>

namespace manymeans::opencl {

constexpr int kLineSlices = 4;  // of float64, as the processor has them

/// Lines [first, first + count) of a factor.
class HostLines {
 public:
  HostLines(const ProductLines& lines, int width, bool wide) : lines_(lines), width_(width), wide_(wide) {}

  /// From here on about these lines; reads all of their values.
  void begin(int64_t first, int64_t count, ThreadPool& pool);
  /// Packs values [from, to) of them, slice after slice.
  void pack(int64_t from, int64_t to, ThreadPool& pool);

  int64_t first() const { return first_; }
  int64_t count() const { return count_; }
  int64_t panels() const { return (count_ + width_ - 1) / width_; }
  int slices() const { return wide_ ? kLineSlices : 1; }
  /// Of one slice of `depth` values.
  size_t slice_bytes(int64_t depth) const { return static_cast<size_t>(panels() * width_ * depth) * sizeof(double); }
  const double* packed() const { return packed_.data(); }
  /// float32: the norm, rounded up. float64: what scales the line back. Of line `i` of these.
  double bound(int64_t i) const { return bounds_[static_cast<size_t>(i)]; }
  double width(int64_t i) const { return widths_[static_cast<size_t>(i)]; }
  /// All values of line `i` of these, as they are.
  void read(int64_t i, std::vector<double>& values) const;

 private:
  ProductLines part(int64_t from, int64_t to) const;
  void measure(int64_t i);
  void pack_line(int64_t i, const double* values, int64_t depth);

  ProductLines lines_;
  int width_;
  bool wide_;
  int64_t first_ = 0, count_ = 0;
  AlignedBuffer<double> packed_;
  std::vector<double> bounds_, widths_;
  std::vector<int> exponents_;
};

}  // namespace manymeans::opencl
