// A gzip member at once, by libdeflate, which takes a third of zlib's time but can neither go on where it stopped nor
// say what is wrong.
#pragma once

#include "io/files/byte_buffer.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace manymeans {

/// The bytes that inflating a member read and wrote.
struct InflatedMember {
  size_t taken = 0;
  size_t given = 0;
};

/// Inflates and checks the member with which `bytes` begin into `out` from `used` on, growing it where needed. Returns
/// nothing if that does not work: the member is damaged, or this program was built without libdeflate. Then zlib has to
/// do it.
std::optional<InflatedMember> inflate_at_once(std::string_view bytes, ByteBuffer& out, size_t used);

}  // namespace manymeans
