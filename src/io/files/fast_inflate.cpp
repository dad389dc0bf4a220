#include "io/files/fast_inflate.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace manymeans {
namespace {

constexpr size_t kLargestRatio = 1032;  // of inflated to packed bytes

struct Free {
  void operator()(libdeflate_decompressor* p) const { libdeflate_free_decompressor(p); }
};

// A guess at the size of what is inflated: the last four bytes of a file say it for its last member, modulo 2^32. They
// may lie: what is more than tables of numbers ever give is taken when it comes.
size_t size_at_end(std::string_view bytes) {
  constexpr size_t kUsualRatio = 16;
  uint32_t size = 0;
  if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data() + bytes.size() - sizeof size, sizeof size);
  return std::min(size_t{size}, bytes.size() * kUsualRatio);
}

}  // namespace

std::optional<InflatedMember> inflate_at_once(std::string_view bytes, ByteBuffer& out, size_t used) {
  const std::unique_ptr<libdeflate_decompressor, Free> engine(libdeflate_alloc_decompressor());
  if (!engine) return std::nullopt;
  if (used + size_at_end(bytes) > out.size()) out.resize(used + size_at_end(bytes));
  for (;;) {
    InflatedMember member;
    const libdeflate_result result = libdeflate_gzip_decompress_ex(
        engine.get(), bytes.data(), bytes.size(), out.data() + used, out.size() - used, &member.taken, &member.given);
    if (result == LIBDEFLATE_SUCCESS) return member;
    const bool can_grow = out.size() - used < bytes.size() * kLargestRatio;
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE || !can_grow) return std::nullopt;
    out.resize(out.size() * 2);  // and from the start again: twice the work at most
  }
}

}  // namespace manymeans
