#include "io/table/row_store.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "io/table/short_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

namespace manymeans {
namespace {

// Each returns whether the value could be stored.
bool put(double value, double& out) {
  out = value;
  return true;
}

bool put(double value, float& out) {
  out = static_cast<float>(value);
  return !std::isinf(out) || std::isinf(value);
}

template <class Integer>
bool put_integer(double value, Integer& out) {
  constexpr double kLow = std::numeric_limits<Integer>::min();
  constexpr double kHigh = std::numeric_limits<Integer>::max();
  if (!(value >= kLow && value <= kHigh) || value != std::trunc(value)) return false;
  out = static_cast<Integer>(value);
  return true;
}
bool put(double value, uint8_t& out) {
  return put_integer(value, out);
}
bool put(double value, int8_t& out) {
  return put_integer(value, out);
}

bool put(double value, Half& out) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (!std::isfinite(value)) {
    out.bits = static_cast<uint16_t>(sign | (std::isnan(value) ? 0x7e00 : 0x7c00));
    return true;
  }
  if (value == 0) {
    out.bits = sign;
    return true;
  }
  // 11 significant bits, exponents -14 .. 15; below, denormals in steps of 2^-24.
  const int exponent = std::max(std::ilogb(value), -14);
  const double steps = std::ldexp(std::fabs(value), 10 - exponent);
  if (exponent > 15 || steps != std::trunc(steps)) return false;
  const int mantissa = static_cast<int>(steps);
  const int high = mantissa < 1024 ? 0 : (exponent + 15) << 10;
  out.bits = static_cast<uint16_t>(sign | high | (mantissa & 1023));
  return true;
}

bool put(double value, BFloat& out) {
  const float narrow = static_cast<float>(value);
  const uint32_t bits = std::bit_cast<uint32_t>(narrow);
  out.bits = static_cast<uint16_t>(bits >> 16);
  if (std::isnan(value)) {
    out.bits |= 0x40;  // the payload may have been below
    return true;
  }
  return static_cast<double>(narrow) == value && (bits & 0xffff) == 0;
}

}  // namespace

RowStore::RowStore(int64_t rows, int64_t columns, DataType type, const std::string& where, int64_t memory)
    : rows_(rows), columns_(columns), type_(type) {
  size_t size = size_of(type);
  const bool possible = !__builtin_mul_overflow(size, static_cast<size_t>(rows), &size) &&
                        !__builtin_mul_overflow(size, static_cast<size_t>(columns), &size) && size < SIZE_MAX / 4;
  try {
    if (!possible) throw std::bad_alloc();
    const Storage storage = storage_for(static_cast<int64_t>(size), memory);
    in_file_ = storage == Storage::kFile;
    bytes_ = std::make_shared<AlignedBuffer<std::byte>>(size, storage);
  } catch (const std::bad_alloc&) {
    throw Error(
        ErrorCode::kUnavailable, where,
        fmt::format("there is not enough memory for {} x {} values of {}; fewer columns or a narrower type needs less",
                    rows, columns, name_of(type)));
  }
}

void RowStore::copy(int64_t row, const PointsView& rows) {
  const size_t size = static_cast<size_t>(columns_) * size_of(type_);
  if (rows.n > 0) std::memcpy(bytes_->data() + static_cast<size_t>(row) * size, rows.data, rows.bytes());
}

void RowStore::give_back(int64_t first, int64_t last) const {
  if (!in_file_) return;
  const size_t row = static_cast<size_t>(columns_) * size_of(type_);
  bytes_->give_back(static_cast<size_t>(first) * row, static_cast<size_t>(last - first) * row);
}

template <class T>
int64_t RowStore::store_as(int64_t row, const double* values) {
  T* out = reinterpret_cast<T*>(bytes_->data()) + row * columns_;
  for (int64_t j = 0; j < columns_; ++j) {
    if (!put(values[j], out[j])) return j;
  }
  return -1;
}

int64_t RowStore::store(int64_t row, const double* values) {
  switch (type_) {
    case DataType::kFloat32: return store_as<float>(row, values);
    case DataType::kFloat64: return store_as<double>(row, values);
    case DataType::kFloat16: return store_as<Half>(row, values);
    case DataType::kBFloat16: return store_as<BFloat>(row, values);
    case DataType::kUInt8: return store_as<uint8_t>(row, values);
    case DataType::kInt8: return store_as<int8_t>(row, values);
  }
  return -1;
}

void LostIntegers::merge(const LostIntegers& other) {
  for (size_t j = 0; j < columns.size(); ++j) {
    const Place& place = other.columns[j];
    if (place.row >= 0 && (!seen(j) || place.row < columns[j].row)) columns[j] = place;
  }
}

std::optional<std::string> lost_integers_warning(const LostIntegers& lost, std::span<const std::string> labels,
                                                 DataType type, const std::string& row_word) {
  ShortList list;
  for (size_t j = 0; j < lost.columns.size(); ++j) {
    if (!lost.seen(j)) continue;
    const LostIntegers::Place& place = lost.columns[j];
    list.add(fmt::format("{} (first: {} in {} {})", labels[j], place.value, row_word, place.row));
  }
  if (list.empty()) return std::nullopt;
  return fmt::format("integers that {} cannot hold were rounded in {}{}", name_of(type), list.text(),
                     type == DataType::kFloat64 ? "; ids are left out by --exclude, or name the rows by --id"
                                                : "; dtype float64 keeps integers up to 2^53");
}

std::string column_label(int64_t number, const std::string& name) {
  constexpr size_t kMax = 100;  // of a name, in a message: a file that is no table may have any
  const std::string shown = name.size() <= kMax ? name : name.substr(0, kMax) + "...";
  return name.empty() ? fmt::format("column {}", number) : fmt::format("column {} ('{}')", number, shown);
}

}  // namespace manymeans
