// Files packed by gzip, zstd, xz or bzip2, unpacked whole.
#pragma once

#include "io/files/byte_buffer.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace manymeans {

/// Returns true if a file begins as one that is packed; its name does not matter.
bool is_packed(std::string_view bytes);
/// This name of a file, in lower case, without the ending of a packed one.
std::string without_packed_ending(std::string name);

/// All of a packed file, one member after the other, unpacked and checked; in memory, or in a temporary file where
/// `memory` (as in ReadOptions) asks for that. Throws Error(kBadData) for one that is cut or damaged, and
/// Error(kUnavailable) where its library is missing.
ByteBuffer unpack(std::string_view bytes, const std::string& path, int64_t memory = 0);

}  // namespace manymeans
