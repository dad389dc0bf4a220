// The data: N points of D columns, row-major, in one of six number types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {

/// Number types that points may have. Narrow types widen exactly to float32.
enum class DataType : uint8_t { kFloat32, kFloat64, kFloat16, kBFloat16, kUInt8, kInt8 };

/// Bytes of one value.
constexpr size_t size_of(DataType type) {
  switch (type) {
    case DataType::kFloat64: return 8;
    case DataType::kFloat32: return 4;
    case DataType::kFloat16:
    case DataType::kBFloat16: return 2;
    case DataType::kUInt8:
    case DataType::kInt8: return 1;
  }
  return 0;
}

/// "float32", "float64", "float16", "bfloat16", "uint8" or "int8".
std::string_view name_of(DataType type);

/// The type with this name, if there is one.
std::optional<DataType> data_type_from_name(std::string_view name);

/// The type T in which prototypes are kept: float64 for float64 points, float32 for all others.
constexpr DataType prototype_type(DataType points) {
  return points == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
}

/// The place of values: host memory, or the memory of a device.
struct MemoryPlace {
  std::string_view space =
      {};                 ///< the kind of device: "cuda"; empty: the host's memory. The text must outlive the view
  int device = 0;         ///< its number among the devices of its kind
  void* queue = nullptr;  ///< whose work so far is waited for (a cudaStream_t); null: the device's default one

  bool on_host() const { return space.empty(); }
};

/// A view of N x D values, row-major without gaps. The memory belongs to the caller
/// and must stay unchanged while a function of the library reads it.
///
/// Points in the memory of a device are read in place by the backend of that device, which "auto" selects for them. All
/// other functions fetch a few rows at a time.
struct PointsView {
  const void* data = nullptr;
  int64_t n = 0;  ///< rows
  int64_t d = 0;  ///< columns
  DataType type = DataType::kFloat32;
  MemoryPlace place;  ///< of the values

  PointsView() = default;
  PointsView(const void* values, int64_t rows, int64_t columns, DataType value_type)
      : data(values), n(rows), d(columns), type(value_type) {}
  PointsView(const float* values, int64_t rows, int64_t columns)
      : PointsView(values, rows, columns, DataType::kFloat32) {}
  PointsView(const double* values, int64_t rows, int64_t columns)
      : PointsView(values, rows, columns, DataType::kFloat64) {}

  bool on_device() const { return !place.on_host(); }
  size_t bytes() const { return static_cast<size_t>(n) * static_cast<size_t>(d) * size_of(type); }
};

/// Room of a caller for results, in the host's memory or in a device's. Work in its queue is waited for before values
/// are written. They are there when the function returns.
struct ResultRoom {
  void* data = nullptr;  ///< null: there is none
  MemoryPlace place = {};

  explicit operator bool() const { return data != nullptr; }
};

/// An owned, row-major matrix of float32 or float64 values: prototypes, usually.
class Matrix {
 public:
  Matrix() = default;
  /// All values are 0 at first.
  Matrix(int64_t rows, int64_t columns, DataType type);
  /// For callers that write every value. The values are uninitialised.
  static Matrix unwritten(int64_t rows, int64_t columns, DataType type);
  Matrix(const Matrix& other);
  Matrix& operator=(const Matrix& other);
  Matrix(Matrix&& other) noexcept : Matrix() { swap(other); }
  Matrix& operator=(Matrix&& other) noexcept {
    Matrix taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Matrix();

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  DataType type() const { return type_; }
  bool empty() const { return size_of_bytes() == 0; }

  /// All values; T must be float or double and agree with type().
  template <class T>
  std::span<T> values() {
    return {reinterpret_cast<T*>(bytes_), size_of_bytes() / sizeof(T)};
  }
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes_), size_of_bytes() / sizeof(T)};
  }

  /// One value as binary64 (exact).
  double at(int64_t row, int64_t column) const {
    const size_t index = static_cast<size_t>(row * columns_ + column);
    return type_ == DataType::kFloat64 ? values<double>()[index] : values<float>()[index];
  }

  PointsView view() const { return {bytes_, rows_, columns_, type_}; }
  std::span<const std::byte> bytes() const { return {bytes_, size_of_bytes()}; }

 private:
  size_t size_of_bytes() const { return static_cast<size_t>(rows_) * static_cast<size_t>(columns_) * size_of(type_); }
  void swap(Matrix& other) noexcept {
    std::swap(rows_, other.rows_);
    std::swap(columns_, other.columns_);
    std::swap(type_, other.type_);
    std::swap(bytes_, other.bytes_);
  }

  int64_t rows_ = 0;
  int64_t columns_ = 0;
  DataType type_ = DataType::kFloat32;
  std::byte* bytes_ = nullptr;
};

/// One label per row, in the smallest unsigned type that holds K - 1. All are 0 at first.
class Labels {
 public:
  Labels() = default;
  /// `in_file`: in a temporary file without a name instead of in memory; Error(kUnavailable) where the disk is full.
  Labels(int64_t n, int64_t k, bool in_file = false);
  Labels(const Labels& other);  ///< the copy lies where the other does
  Labels& operator=(const Labels& other);
  Labels(Labels&& other) noexcept : Labels() { swap(other); }
  Labels& operator=(Labels&& other) noexcept {
    Labels taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Labels();

  int64_t size() const { return n_; }
  int width() const { return width_; }  ///< bytes per label: 1, 2 or 4
  bool empty() const { return n_ == 0; }
  bool in_file() const { return in_file_; }
  std::span<const std::byte> bytes() const { return {bytes_, size_of_bytes()}; }
  std::span<std::byte> bytes() { return {bytes_, size_of_bytes()}; }

  uint32_t operator[](int64_t row) const {
    uint32_t label = 0;
    read(row, 1, &label);
    return label;
  }
  /// Copies the labels of rows [first, first + count) to `out`, widened.
  void read(int64_t first, int64_t count, uint32_t* out) const;
  /// Stores the labels of rows [first, first + count). Different rows may be written by different threads.
  void write(int64_t first, int64_t count, const uint32_t* labels);
  /// These labels are not needed for now: what lies in a file need not stay in memory.
  void give_back(int64_t first, int64_t count) const;

 private:
  size_t size_of_bytes() const { return static_cast<size_t>(n_) * static_cast<size_t>(width_); }
  void swap(Labels& other) noexcept {
    std::swap(n_, other.n_);
    std::swap(width_, other.width_);
    std::swap(in_file_, other.in_file_);
    std::swap(bytes_, other.bytes_);
  }

  int64_t n_ = 0;
  int width_ = 1;
  bool in_file_ = false;
  std::byte* bytes_ = nullptr;
};

}  // namespace manymeans
