// Values as bytes, for messages between processes of one machine type. A struct has one function, fields(archive), that
// names its fields; the writer and the reader both call it, so the two cannot disagree. A message ends with the hash of
// its bytes: one flipped bit in a sum would be another answer.
#pragma once

#include <manymeans/error.h>
#include <manymeans/points.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace manymeans {

/// XXH3-64.
uint64_t hash_of_bytes(std::span<const std::byte> bytes);

class ByteWriter {
 public:
  /// The message, with its hash.
  std::vector<std::byte> take() {
    uint64_t hash = hash_of_bytes(bytes_);
    (*this)(hash);
    return std::move(bytes_);
  }

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      raw(&value, sizeof(T));
    } else {
      value.fields(*this);
    }
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    auto count = static_cast<uint64_t>(values.size());
    (*this)(count);
    if constexpr (std::is_arithmetic_v<T>) {
      raw(values.data(), values.size() * sizeof(T));
    } else {
      for (T& value : values) (*this)(value);
    }
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool there = value.has_value();
    (*this)(there);
    if (there) (*this)(*value);
  }
  void operator()(std::string& text) {
    std::vector<char> values(text.begin(), text.end());
    (*this)(values);
  }
  void operator()(Matrix& matrix) {
    int64_t rows = matrix.rows(), columns = matrix.columns();
    auto type = matrix.type();
    (*this)(rows), (*this)(columns), (*this)(type);
    raw(matrix.bytes().data(), matrix.bytes().size());
  }

 private:
  void raw(const void* from, size_t size) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + size);
  }

  std::vector<std::byte> bytes_;
};

/// Throws Error(kBadData) where there are not as many bytes as they say themselves, or other ones than were written.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, const char* what) : bytes_(bytes), what_(what) {
    uint64_t hash = 0;
    if (bytes.size() < sizeof hash) refuse();
    bytes_ = bytes.first(bytes.size() - sizeof hash);
    std::memcpy(&hash, bytes_.data() + bytes_.size(), sizeof hash);
    if (hash != hash_of_bytes(bytes_)) refuse();
  }

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      (*this)(byte);
      value = byte != 0;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      raw(&value, sizeof(T));
    } else {
      value.fields(*this);
    }
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    uint64_t count = 0;
    (*this)(count);
    values.clear();
    if constexpr (std::is_arithmetic_v<T>) {
      need(count, sizeof(T));
      values.resize(count);
      raw(values.data(), values.size() * sizeof(T));
    } else {
      for (uint64_t i = 0; i < count; ++i) (*this)(values.emplace_back());  // no more memory than there are bytes for
    }
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool there = false;
    (*this)(there);
    value.reset();
    if (there) (*this)(value.emplace());
  }
  void operator()(std::string& text) {
    std::vector<char> values;
    (*this)(values);
    text.assign(values.begin(), values.end());
  }
  void operator()(Matrix& matrix) {
    int64_t rows = 0, columns = 0;
    uint8_t type = 0;
    (*this)(rows), (*this)(columns), (*this)(type);
    if (rows < 0 || columns < 0 || type > static_cast<uint8_t>(DataType::kFloat64)) refuse();
    if (columns > 0) need(static_cast<uint64_t>(rows), static_cast<uint64_t>(columns));
    matrix = Matrix::unwritten(rows, columns, static_cast<DataType>(type));
    raw(matrix.values<std::byte>().data(), matrix.bytes().size());
  }
  void end() const {
    if (at_ != bytes_.size()) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::kBadData, what_,
                "these bytes are damaged or of another version; pass them as they were made");
  }
  void need(uint64_t count, uint64_t size) const {
    if (count > (bytes_.size() - at_) / size) refuse();
  }
  void raw(void* to, size_t size) {
    need(size, 1);
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }

  std::span<const std::byte> bytes_;
  const char* what_;
  size_t at_ = 0;
};

}  // namespace manymeans
