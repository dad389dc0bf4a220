// Exact widening of narrow values.
#pragma once

#include <manymeans/points.h>

#include "core/memory_space.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace manymeans {

/// IEEE binary16 to binary32, exact, infinities and NaN included.
inline float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // denormal or zero: exact
  return sign != 0 ? -magnitude : magnitude;
}

/// bfloat16 to binary32, exact.
inline float bfloat16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Such values as types of their own, for code that is written once for all types.
struct Half {
  uint16_t bits;
  explicit operator float() const { return half_to_float(bits); }
  explicit operator double() const { return half_to_float(bits); }
};
struct BFloat {
  uint16_t bits;
  explicit operator float() const { return bfloat16_to_float(bits); }
  explicit operator double() const { return bfloat16_to_float(bits); }
};

/// `count` values of `type` starting at value `first` of `data`, as T: float, or double for float64 data.
template <class T>
void widen(const void* data, DataType type, int64_t first, int64_t count, T* out) {
  const auto copy = [&]<class Value>(Value) {
    const Value* from = static_cast<const Value*>(data) + first;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(from[i]);
  };
  switch (type) {
    case DataType::kFloat32: return copy(float{});
    case DataType::kFloat64: return copy(double{});
    case DataType::kUInt8: return copy(uint8_t{});
    case DataType::kInt8: return copy(int8_t{});
    case DataType::kFloat16: return copy(Half{});
    case DataType::kBFloat16: return copy(BFloat{});
  }
}

/// use(T{}) for the type in which points and prototypes of this type are worked on: double for float64, else float.
template <class Use>
auto as_float_type(DataType type, Use&& use) {
  return type == DataType::kFloat64 ? use(double{}) : use(float{});
}

/// The bytes of rows [first, first + count): where they lie, or, from a device, in `space`.
inline const std::byte* row_bytes(const PointsView& points, int64_t first, int64_t count,
                                  std::vector<std::byte>& space) {
  const size_t size = static_cast<size_t>(points.d) * size_of(points.type);
  const size_t begin = static_cast<size_t>(first) * size;
  if (!points.on_device()) return static_cast<const std::byte*>(points.data) + begin;
  space.resize(static_cast<size_t>(count) * size);
  memory_space(points).fetch_bytes(points, begin, space.size(), space.data());
  return space.data();
}

/// These rows in the host's memory: where they lie, or, from a device, in `space`.
inline PointsView host_rows(const PointsView& points, int64_t first, int64_t count, std::vector<std::byte>& space) {
  return {row_bytes(points, first, count, space), count, points.d, points.type};
}

/// Row `row` of points, widened.
template <class T>
void widen_row(const PointsView& points, int64_t row, T* out) {
  std::vector<std::byte> space;
  widen(row_bytes(points, row, 1, space), points.type, 0, points.d, out);
}

/// Rows [first, first + count) of points in the host's memory as T: a pointer into the data where it has that type,
/// else into `scratch` (count * d values).
template <class T>
const T* rows_as(const PointsView& points, int64_t first, int64_t count, T* scratch) {
  constexpr DataType kSame = sizeof(T) == 8 ? DataType::kFloat64 : DataType::kFloat32;
  if (points.type == kSame) return static_cast<const T*>(points.data) + first * points.d;
  widen(points.data, points.type, first * points.d, count * points.d, scratch);
  return scratch;
}

}  // namespace manymeans
