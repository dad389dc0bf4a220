#include "product/cuda/packed_factor.h"

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
  constexpr int64_t kKnown = sizeof(double) + 3 * sizeof(int32_t);
  const int64_t parts = blocks() * static_cast<int64_t>(sizeof(LineMeasure));
  return padded_lines(lines) * (slices() * chunks() * kChunkBytes + parts + kKnown);
}

void PackedFactor::lay_out(const LineShape& shape, int64_t max_lines, MemoryCutter& from) {
  const int64_t padded = padded_lines(max_lines), slice = padded * shape.chunks() * kChunkBytes;
  lines_.values = from.cut<std::byte>(slice * shape.slices());
  lines_.slice_bytes = shape.sliced ? slice : 0;
  lines_.chunks = static_cast<int32_t>(shape.chunks());
  lines_.blocks = static_cast<int32_t>(shape.blocks());
  lines_.parts = from.cut<LineMeasure>(padded * shape.blocks());
  lines_.bounds = from.cut<double>(padded);
  lines_.widths = from.cut<int32_t>(padded);
  lines_.exponents = from.cut<int32_t>(padded);
  if (!shape.wide) lines_.factors = from.cut<float>(padded);
}

void PackedFactor::begin(int64_t lines) {
  lines_.count = static_cast<int32_t>(lines);
  lines_.padded = static_cast<int32_t>(padded_lines(lines));
}

}  // namespace manymeans::cuda
