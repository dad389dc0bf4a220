// Rows of binary64 values into a matrix of the wanted type, with what could not be kept.
#pragma once

#include <manymeans/points.h>

#include "core/aligned_buffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace manymeans {

/// Memory for N x D values of any type.
class RowStore {
 public:
  /// In memory, or in a temporary file where `memory` asks for that (ReadOptions::memory).
  /// Throws Error(kUnavailable) naming `where` if there is not enough memory, or "memory" if the disk is full.
  RowStore(int64_t rows, int64_t columns, DataType type, const std::string& where, int64_t memory = 0);

  DataType type() const { return type_; }
  int64_t columns() const { return columns_; }
  PointsView view() const { return {bytes_->data(), rows_, columns_, type_}; }
  std::shared_ptr<const void> owner() const { return bytes_; }

  /// Rounds D values to the type (float64 and float32) or stores them if they are exact (narrow types).
  /// Returns the first column that could not be stored, or -1. Different rows may be stored by different threads.
  int64_t store(int64_t row, const double* values);
  /// Copies rows that have this type and these columns already to the places from `row` on.
  void copy(int64_t row, const PointsView& rows);
  bool in_file() const { return in_file_; }
  /// These rows are not needed for now.
  void give_back(int64_t first, int64_t last) const;

 private:
  template <class T>
  int64_t store_as(int64_t row, const double* values);

  int64_t rows_, columns_;
  DataType type_;
  bool in_file_ = false;
  std::shared_ptr<AlignedBuffer<std::byte>> bytes_;
};

/// Returns true if an integer changes on its way to this type, float32 or float64; no other type changes any.
template <class T>
bool is_lost(T value, DataType type) {
  if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
    const double wide = static_cast<double>(value);
    // 2^63 and 2^64 do not convert back; they come only from integers that were rounded up.
    if (wide >= (std::is_signed_v<T> ? 0x1p63 : 0x1p64) || static_cast<T>(wide) != value) return true;
    return type == DataType::kFloat32 && static_cast<double>(static_cast<float>(wide)) != wide;
  } else {
    return false;
  }
}

/// Places of the first integers that were changed by the type, per column; one for each thread, then merged.
struct LostIntegers {
  struct Place {
    int64_t row = -1;  ///< line of a text file; -1: none
    std::string value;
  };
  std::vector<Place> columns;

  explicit LostIntegers(size_t count) : columns(count) {}
  bool seen(size_t column) const { return columns[column].row >= 0; }
  void add(size_t column, int64_t row, std::string value) { columns[column] = {row, std::move(value)}; }
  void merge(const LostIntegers& other);
};

/// The warning about integers that the type cannot hold, or nothing. `names` as by column_label().
std::optional<std::string> lost_integers_warning(const LostIntegers& lost, std::span<const std::string> labels,
                                                 DataType type, const std::string& row_word);

/// "column 3 ('age')" or "column 3"; `number` counts from 1.
std::string column_label(int64_t number, const std::string& name);

}  // namespace manymeans
