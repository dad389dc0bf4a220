#include "backend/cuda/product/packed_factor.h"

#include <algorithm>

namespace manymeans::cuda {

int64_t LineShape::chunks() const {
  const int64_t values = kChunkBytes / (wide ? 8 : 4);
  return std::max<int64_t>(1, (depth + values - 1) / values);
}

int64_t LineShape::blocks() const {
  return std::max<int64_t>(1, (depth + kPackDepth - 1) / kPackDepth);
}

int64_t LineShape::bytes(int64_t lines) const {
  constexpr int64_t kKnown = sizeof(double) + 2 * sizeof(int32_t);  // exponents or factors
  const int64_t parts = blocks() * static_cast<int64_t>(sizeof(LineMeasure));
  return padded_lines(lines) * (slices() * chunks() * kChunkBytes + parts + kKnown);
}

PackedFactor::PackedFactor(const LineShape& shape, int64_t most_lines) {
  const auto padded = static_cast<size_t>(padded_lines(most_lines));
  const auto slice = padded * static_cast<size_t>(shape.chunks() * kChunkBytes);
  values_ = DeviceBuffer<std::byte>(slice * static_cast<size_t>(shape.slices()), "a factor of the product");
  parts_ = DeviceBuffer<LineMeasure>(padded * static_cast<size_t>(shape.blocks()), "measures of a factor");
  bounds_ = DeviceBuffer<double>(padded, "bounds of a factor's lines");
  widths_ = DeviceBuffer<int32_t>(padded, "widths of a factor's lines");
  if (shape.wide) {
    exponents_ = DeviceBuffer<int32_t>(padded, "exponents of a factor's lines");
  } else {
    factors_ = DeviceBuffer<float>(padded, "bounds of a factor's lines");
  }
  lines_.values = values_.data();
  lines_.slice_bytes = shape.wide ? static_cast<int64_t>(slice) : 0;
  lines_.chunks = static_cast<int32_t>(shape.chunks());
  lines_.blocks = static_cast<int32_t>(shape.blocks());
  lines_.parts = parts_.data();
  lines_.bounds = bounds_.data();
  lines_.widths = widths_.data();
  lines_.exponents = exponents_.data();
  lines_.factors = factors_.data();
}

void PackedFactor::begin(int64_t lines) {
  lines_.count = static_cast<int32_t>(lines);
  lines_.padded = static_cast<int32_t>(padded_lines(lines));
}

}  // namespace manymeans::cuda
