// Bytes as a file with a path, without a disk and without the system.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::fuzz {

/// The path at which these bytes are a file until the next call. They stay the caller's.
std::string hold(std::span<const uint8_t> bytes);

/// Puts the right checksum of each stored member into the directory of a zip archive: a fuzzer that has to guess them
/// would never reach what stands behind the check.
inline void repair_checksums(std::vector<uint8_t>& zip) {
  constexpr std::string_view kEntry = "PK\x01\x02";
  const auto number = [&](size_t at, size_t bytes) {
    uint32_t value = 0;
    std::memcpy(&value, zip.data() + at, bytes);
    return size_t{value};
  };
  for (size_t at = 0; at + 46 <= zip.size(); ++at) {
    if (std::memcmp(zip.data() + at, kEntry.data(), kEntry.size()) != 0) continue;
    const size_t size = number(at + 20, 4), local = number(at + 42, 4);
    if (local + 30 > zip.size()) continue;
    const size_t begin = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    if (begin > zip.size() || size > zip.size() - begin) continue;
    const auto crc = static_cast<uint32_t>(crc32_z(crc32_z(0, nullptr, 0), zip.data() + begin, size));
    std::memcpy(zip.data() + at + 16, &crc, sizeof crc);
  }
}

}  // namespace manymeans::fuzz
