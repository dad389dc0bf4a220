#include "backend/opencl/product/host_lines.h"

#include "backend/product_bounds.h"
#include "core/fixed_point.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace manymeans::opencl {
namespace {

constexpr int64_t kPiece = 1024;                      // values of a line that are read at once
constexpr double kNever = 0x1p30, kAlways = -0x1p20;  // widths: of lines that are not finite, and of zeros

// The weight of the lowest bit that is set.
double lowest_bit_of(double magnitude) {
  const auto bits = std::bit_cast<uint64_t>(magnitude);
  const uint64_t fraction = bits & 0xfffffffffffff;
  const double without = fraction == 0 ? 0 : std::bit_cast<double>(bits & (bits - 1));
  return magnitude - without;
}

}  // namespace

// Values [from, to) of all lines.
ProductLines HostLines::part(int64_t from, int64_t to) const {
  ProductLines some = lines_;
  const auto bytes = static_cast<int64_t>(size_of(lines_.type));
  if (some.data != nullptr) some.data = static_cast<const std::byte*>(some.data) + from * some.step * bytes;
  some.depth = to - from;
  return some;
}

void HostLines::begin(int64_t first, int64_t count, ThreadPool& pool) {
  first_ = first;
  count_ = count;
  const auto lines = static_cast<size_t>(count);
  bounds_.assign(lines, 0);
  widths_.assign(lines, kAlways);
  exponents_.assign(lines, 0);
  pool.for_each_range(count, 8, [&](int, int64_t i, int64_t last) {
    for (; i < last; ++i) measure(i);
  });
}

void HostLines::measure(int64_t i) {
  double values[kPiece];
  double largest = 0, squares = 0, lowest = HUGE_VAL;
  bool finite = true;
  for (int64_t l = 0; l < lines_.depth; l += kPiece) {
    const ProductLines some = part(l, std::min(l + kPiece, lines_.depth));
    read_line(some, first_ + i, values);
    for (int64_t v = 0; v < some.depth; ++v) {
      const double magnitude = std::abs(values[v]);
      finite = finite && magnitude < HUGE_VAL;
      largest = std::max(largest, magnitude);
      squares += magnitude * magnitude;
      if (magnitude > 0) lowest = std::min(lowest, lowest_bit_of(magnitude));
    }
  }
  const auto at = static_cast<size_t>(i);
  const bool zero = finite && largest == 0;
  widths_[at] = !finite ? kNever : zero ? kAlways : exponent(largest) - exponent(lowest) + 1;
  if (wide_) {
    exponents_[at] = finite && !zero ? exponent(largest) : 0;
    bounds_[at] = std::ldexp(1.0, exponents_[at]);
  } else {
    const double up = 1 + static_cast<double>(lines_.depth + 8) * 0x1p-52;
    bounds_[at] = finite ? std::sqrt(squares * up) * (1 + 0x1p-40) : HUGE_VAL;
  }
}

void HostLines::pack(int64_t from, int64_t to, ThreadPool& pool) {
  const int64_t depth = to - from;
  const size_t needed = slice_bytes(depth) / sizeof(double) * static_cast<size_t>(slices());
  if (packed_.size() < needed) packed_ = AlignedBuffer<double>(needed);
  const ProductLines some = part(from, to);
  pool.for_each_range(panels() * width_, 8, [&](int, int64_t i, int64_t last) {
    std::vector<double> values(static_cast<size_t>(depth));
    for (; i < last; ++i) {
      if (i < count_) {
        read_line(some, first_ + i, values.data());
      } else {
        std::ranges::fill(values, 0.0);
      }
      pack_line(i, values.data(), depth);
    }
  });
}

void HostLines::pack_line(int64_t i, const double* values, int64_t depth) {
  double* out = packed_.data() + i / width_ * width_ * depth + i % width_;
  if (!wide_) {
    for (int64_t l = 0; l < depth; ++l) out[l * width_] = values[l];
    return;
  }
  const size_t slice = slice_bytes(depth) / sizeof(double);
  const int e = i < count_ ? exponents_[static_cast<size_t>(i)] : 0;
  const double factor = std::ldexp(1.0, -(e / 2)), more = std::ldexp(1.0, -(e - e / 2));
  const int beta = slice_bits(lines_.depth);
  const double first = 1.5 * std::ldexp(1.0, 52 - beta), second = 1.5 * std::ldexp(1.0, 52 - 2 * beta);
  for (int64_t l = 0; l < depth; ++l) {
    const double y = values[l] * factor * more;
    const double high = (y + first) - first;
    const double rest = y - high;
    const double middle = (rest + second) - second;
    double* to = out + l * width_;
    to[0] = high;
    to[slice] = middle;
    to[2 * slice] = rest - middle;
    to[3 * slice] = rest;
  }
}

void HostLines::read(int64_t i, std::vector<double>& values) const {
  values.resize(static_cast<size_t>(lines_.depth));
  read_line(lines_, first_ + i, values.data());
}

}  // namespace manymeans::opencl
