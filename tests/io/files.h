// Files for a test, and errors that name what they should.
#pragma once

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::test {

/// A folder that is empty at first and gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "manymeans-io-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, std::string_view content) const {
    std::ofstream(*this / name, std::ios::binary) << content;
    return *this / name;
  }
  /// Names in the folder, hidden ones too.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) result.push_back(entry.path().filename());
    return result;
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One gzip member.
inline std::string gzipped(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

/// That `call` throws an Error of this kind whose message holds all of these.
template <class Call>
void expect_error(ErrorCode code, std::initializer_list<std::string> parts, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' missing in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no error, expected one with: " << *parts.begin();
}

/// The values of points, in binary64, row-major.
inline std::vector<double> values_of(const PointsView& points) {
  const auto count = static_cast<size_t>(points.n * points.d);
  const auto copy = [&](auto* values) { return std::vector<double>(values, values + count); };
  switch (points.type) {
    case DataType::kFloat32: return copy(static_cast<const float*>(points.data));
    case DataType::kFloat64: return copy(static_cast<const double*>(points.data));
    case DataType::kUInt8: return copy(static_cast<const uint8_t*>(points.data));
    case DataType::kInt8: return copy(static_cast<const int8_t*>(points.data));
    default: return copy(static_cast<const uint16_t*>(points.data));  // bits
  }
}

using Values = std::vector<double>;

}  // namespace manymeans::test
