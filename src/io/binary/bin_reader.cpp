// Two 32-bit numbers, N and D, then N rows of D values: .fbin and its kin, and the binary files of NU-MineBench.
#include <manymeans/error.h>

#include "io/table/mapped_reader.h"

#include <fmt/format.h>

#include <cstring>

namespace manymeans {
namespace {

constexpr size_t kHeaderSize = 8;

// The header must agree with the size of the file to the byte, so nothing that it claims is believed.
StoredMatrix find_rows(std::span<const std::byte> bytes, const MappedFormat& format, const std::string& path) {
  if (bytes.size() < kHeaderSize) {
    throw Error(ErrorCode::kBadData, path,
                fmt::format("the header is cut off: {} bytes found; 8 are needed, the number of rows and of columns",
                            bytes.size()));
  }
  uint32_t n = 0, d = 0;
  std::memcpy(&n, bytes.data(), sizeof n);
  std::memcpy(&d, bytes.data() + sizeof n, sizeof d);
  size_t size = format.item_size;
  const bool overflow =
      __builtin_mul_overflow(size, size_t{n}, &size) || __builtin_mul_overflow(size, size_t{d}, &size);
  if (overflow || size != bytes.size() - kHeaderSize) {
    throw Error(ErrorCode::kBadData, path,
                fmt::format("the header promises {} rows of {} values of {} bytes, that is {} bytes after the header, "
                            "but {} were found; the file is cut off, or not a {} file",
                            n, d, format.item_size, overflow ? "more than 2^64" : std::to_string(size),
                            bytes.size() - kHeaderSize, format.ending));
  }
  return StoredMatrix::dense(bytes.data() + kHeaderSize, n, d, static_cast<int64_t>(format.item_size),
                             std::string(format.type));
}

}  // namespace

Reader make_fbin_reader() {
  return mapped_reader({".fbin", "N, D and float32 rows (.fbin), mapped", "<f4", 4}, find_rows);
}
Reader make_u8bin_reader() {
  return mapped_reader({".u8bin", "N, D and uint8 rows (.u8bin), mapped", "|u1", 1}, find_rows);
}
Reader make_i8bin_reader() {
  return mapped_reader({".i8bin", "N, D and int8 rows (.i8bin), mapped", "|i1", 1}, find_rows);
}
Reader make_ibin_reader() {
  return mapped_reader({".ibin", "N, D and int32 rows (.ibin)", "<i4", 4}, find_rows);
}
Reader make_minebench_reader() {
  return mapped_reader({".bin", "NU-MineBench binary: N, D and float32 rows (.bin), mapped", "<f4", 4}, find_rows);
}

}  // namespace manymeans
