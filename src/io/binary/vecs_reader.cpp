// .fvecs, .bvecs and .ivecs, as the TEXMEX collections have them: before each row, how many values it has.
#include <manymeans/error.h>

#include "io/table/mapped_reader.h"

#include <fmt/format.h>

#include <cstring>

namespace manymeans {
namespace {

constexpr size_t kCountSize = 4;

int32_t count_at(std::span<const std::byte> bytes, size_t at) {
  int32_t count = 0;
  std::memcpy(&count, bytes.data() + at, kCountSize);
  return count;
}

// Every row of this part is as long as the first one of the file, or this says which is not. A file too short for its
// last row is cut off, which the last part finds.
void check_rows(std::span<const std::byte> bytes, const StoredMatrix& matrix, const RowPart& part,
                const std::string& path) {
  const auto stride = static_cast<size_t>(matrix.row_step);
  const int64_t d = matrix.d, last = part.end(matrix.n);
  const size_t end = last == matrix.n ? bytes.size() : static_cast<size_t>(last) * stride;
  for (auto row = static_cast<size_t>(part.begin(matrix.n)) + 1; (row - 1) * stride < end; ++row) {
    const size_t at = (row - 1) * stride, left = bytes.size() - at;
    if (left >= kCountSize && count_at(bytes, at) != d) {
      throw Error(ErrorCode::kBadData, path,
                  fmt::format("row {} (at byte {}) says it has {} values, the rows before have {}; every row needs the "
                              "same number",
                              row, at, count_at(bytes, at), d));
    }
    if (left < stride) {
      throw Error(ErrorCode::kBadData, path,
                  fmt::format("the file is cut off in row {}: {} bytes from byte {} on are needed, {} are there", row,
                              stride, at, left));
    }
  }
}

StoredMatrix find_rows(std::span<const std::byte> bytes, const MappedFormat& format, const std::string& path) {
  if (bytes.size() < kCountSize) {
    throw Error(
        ErrorCode::kBadData, path,
        fmt::format("the file has {} bytes; a row begins with 4 that say how many values it has", bytes.size()));
  }
  const int32_t d = count_at(bytes, 0);
  if (d < 1) {
    throw Error(ErrorCode::kBadData, path,
                fmt::format("row 1 says it has {} values; at least 1 is needed: is this a {} file?", d, format.ending));
  }
  const size_t stride = kCountSize + static_cast<size_t>(d) * format.item_size;
  StoredMatrix matrix = StoredMatrix::dense(bytes.data() + kCountSize, static_cast<int64_t>(bytes.size() / stride), d,
                                            static_cast<int64_t>(format.item_size), std::string(format.type));
  matrix.row_step = static_cast<int64_t>(stride);
  return matrix;
}

Reader vecs_reader(const MappedFormat& format) {
  return {format.description, {format.ending}, [format](const std::string& path, const ReadOptions& options) {
            const auto file = MappedFile::open(path, Access::kAgainAndAgain, options.memory);
            const StoredMatrix matrix = find_rows(file->bytes(), format, path);
            check_rows(file->bytes(), matrix, options.part, path);
            return read_stored(matrix, file, path, options);
          }};
}

}  // namespace

Reader make_fvecs_reader() {
  return vecs_reader({".fvecs", "rows of a count and float32 values (.fvecs)", "<f4", 4});
}
Reader make_bvecs_reader() {
  return vecs_reader({".bvecs", "rows of a count and uint8 values (.bvecs)", "|u1", 1});
}
Reader make_ivecs_reader() {
  return vecs_reader({".ivecs", "rows of a count and int32 values (.ivecs)", "<i4", 4});
}

}  // namespace manymeans
