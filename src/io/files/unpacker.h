// How a library unpacks: one file for each. Only unpack.cpp and they include this.
#pragma once

#include <manymeans/error.h>

#include "io/files/byte_buffer.h"
#include "io/files/fast_inflate.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace manymeans {

/// The result of one step of unpacking.
struct UnpackStep {
  size_t taken = 0, given = 0;    // bytes
  bool ended = false;             ///< that was the end of a member: what follows is another one
  const char* trouble = nullptr;  ///< what the library says is wrong
};

/// Members (gzip), frames (zstd) or streams (xz, bzip2), one after the other.
class Unpacker {
 public:
  Unpacker() = default;
  virtual ~Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// Continues with `packed`, to at most `room` bytes at `to`; both are below 2^31. Throws std::bad_alloc.
  virtual UnpackStep step(std::string_view packed, char* to, size_t room) = 0;
  /// A whole member at once, as inflate_at_once() does it, where that is faster.
  virtual std::optional<InflatedMember> at_once(std::string_view /*packed*/, ByteBuffer& /*out*/, size_t /*used*/) {
    return std::nullopt;
  }
};

std::unique_ptr<Unpacker> make_gzip_unpacker(const std::string& path);
std::unique_ptr<Unpacker> make_zstd_unpacker(const std::string& path);
std::unique_ptr<Unpacker> make_xz_unpacker(const std::string& path);
std::unique_ptr<Unpacker> make_bzip2_unpacker(const std::string& path);

/// The error if this build or this computer lacks a library. `program` unpacks such files.
inline Error no_unpacker(const std::string& path, const std::string& program, const std::string& why) {
  return Error(ErrorCode::kUnavailable, path,
               "the file is packed by " + program + ", and " + why + "; unpack it first (" + program +
                   " -d), or pipe it: " + program + " -dc FILE | manymeans ... - --format text");
}

}  // namespace manymeans
