// Named arrays in a .npz file.
#pragma once

#include <manymeans/points.h>

#include "io/files/mapped_file.h"
#include "io/files/zip_archive.h"
#include "io/numpy/npy_format.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Adds arrays to an archive. Shapes are empty for single values.
class NpzWriter {
 public:
  explicit NpzWriter(OutputFile& file) : zip_(file) {}

  void add(const std::string& key, std::string_view descr, std::span<const int64_t> shape,
           std::span<const std::byte> values);
  /// As above, but `produce` gives the values to its sink part by part: twice, see ZipWriter::add.
  void add_parts(const std::string& key, std::string_view descr, std::span<const int64_t> shape, uint64_t bytes,
                 const std::function<void(const ZipWriter::Sink&)>& produce);
  void add(const std::string& key, const std::vector<int64_t>& values) { add_vector(key, "<i8", values); }
  void add(const std::string& key, const std::vector<uint64_t>& values) { add_vector(key, "<u8", values); }
  void add(const std::string& key, const std::vector<double>& values) { add_vector(key, "<f8", values); }
  void add(const std::string& key, const std::vector<std::string>& values);
  void add(const std::string& key, const Matrix& values) {
    const std::vector<int64_t> shape{values.rows(), values.columns()};
    add(key, values.type() == DataType::kFloat64 ? "<f8" : "<f4", shape, values.bytes());
  }
  void add_text(const std::string& key, const std::string& value);  ///< str(array) in Python gives the text
  void add_number(const std::string& key, int64_t value);
  void finish() { zip_.finish(); }

 private:
  template <class T>
  void add_vector(const std::string& key, std::string_view descr, const std::vector<T>& values) {
    const std::vector<int64_t> shape{static_cast<int64_t>(values.size())};
    add(key, descr, shape, std::as_bytes(std::span(values)));
  }
  void add_strings(const std::string& key, std::span<const std::string> values, std::span<const int64_t> shape);

  ZipWriter zip_;
};

/// One array of a .npz, in memory. Every access checks type and shape: Error(kBadData) names file and key.
class NpzArray {
 public:
  NpzArray(std::string where, std::vector<std::byte> bytes)
      : where_(std::move(where)), bytes_(std::move(bytes)), header_(parse_npy_header(bytes_, where_)) {}

  const NpyHeader& header() const { return header_; }
  const std::string& where() const { return where_; }
  const std::byte* values() const { return bytes_.data() + header_.offset; }

  /// A vector of `count` values (any number of them for -1): int64_t, uint64_t, double or std::string.
  template <class T>
  std::vector<T> vector(int64_t count = -1) const;
  int64_t number() const;    ///< a single '<i8'
  std::string text() const;  ///< of a single string

  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string string(size_t index) const;
  void check_vector(int64_t count) const;

  std::string where_;
  std::vector<std::byte> bytes_;
  NpyHeader header_;
};

/// A .npz file that this library has written, open. Throws Error(kBadData) naming the file, and the key in it.
class NpzFile {
 public:
  /// `kind` is what the file should be, for messages: "a checkpoint".
  NpzFile(const std::string& path, std::string_view kind)
      : path_(path), kind_(kind), file_(MappedFile::open(path, Access::kOnce)), zip_(file_->bytes(), path) {}

  bool has(const std::string& key) const { return zip_.has(key + ".npy"); }
  NpzArray array(const std::string& key) const;
  template <class T>
  std::vector<T> vector(const std::string& key, int64_t count = -1) const {
    return array(key).vector<T>(count);
  }

 private:
  std::string path_, kind_;
  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
};

}  // namespace manymeans
