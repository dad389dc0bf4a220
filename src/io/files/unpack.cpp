#include "io/files/unpack.h"

#include <manymeans/error.h>

#include "io/files/unpacker.h"

#include <algorithm>
#include <cstring>

namespace manymeans {
namespace {

constexpr size_t kMaxBlock = size_t{1} << 30;   // libraries count in unsigned int
constexpr size_t kFileBlock = size_t{4} << 20;  // of a file, in memory

// A way of packing: how its files begin, and who unpacks them.
struct Packing {
  const char* name;
  const char* ending;
  bool (*begins)(std::string_view bytes);
  std::unique_ptr<Unpacker> (*make)(const std::string& path);
};

bool begins_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}
// A frame, or one to skip, with which files of several threads and seekable ones begin.
bool begins_zstd(std::string_view bytes) {
  return bytes.starts_with("\x28\xb5\x2f\xfd") ||
         (bytes.size() >= 4 && (static_cast<unsigned char>(bytes[0]) & 0xf0) == 0x50 &&
          bytes.substr(1).starts_with("\x2a\x4d\x18"));
}
bool begins_xz(std::string_view bytes) {
  return bytes.starts_with(std::string_view("\xfd\x37zXZ\0", 6));
}
// "BZh9" may be the name of a column. In a packed file, the mark of a block or of the stream's end follows.
bool begins_bzip2(std::string_view bytes) {
  if (bytes.size() < 4 || !bytes.starts_with("BZh") || bytes[3] < '1' || bytes[3] > '9') return false;
  const std::string_view next = bytes.substr(4, 6);
  return std::string_view("\x31\x41\x59\x26\x53\x59").starts_with(next) ||
         std::string_view("\x17\x72\x45\x38\x50\x90").starts_with(next);
}

constexpr Packing kPackings[] = {
    {"gzip", ".gz", begins_gzip, make_gzip_unpacker},
    {"zstd", ".zst", begins_zstd, make_zstd_unpacker},
    {"xz", ".xz", begins_xz, make_xz_unpacker},
    {"bzip2", ".bz2", begins_bzip2, make_bzip2_unpacker},
};

const Packing* packing_of(std::string_view bytes) {
  const auto* const found =
      std::find_if(std::begin(kPackings), std::end(kPackings), [&](const Packing& p) { return p.begins(bytes); });
  return found == std::end(kPackings) ? nullptr : found;
}

class Unpacking {
 public:
  Unpacking(const Packing& packing, std::string_view bytes, const std::string& path)
      : packing_(packing), bytes_(bytes), path_(path), unpacker_(packing.make(path)) {}
  ByteBuffer run(int64_t memory);

 private:
  // Zeros after the last member are padding (tar, tapes); anything else must be another member.
  bool only_padding_left() const {
    return std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(taken_), bytes_.end(),
                       [](char c) { return c == 0; });
  }
  bool member_at_once(ByteBuffer& out);
  UnpackStep step(ByteBuffer& out);
  void check(const UnpackStep& step) const;
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(
        ErrorCode::kBadData, path_,
        std::string("the ") + packing_.name + " data " + what + "; a whole " + packing_.ending + " file is needed");
  }

  const Packing& packing_;
  std::string_view bytes_;
  const std::string& path_;
  std::unique_ptr<Unpacker> unpacker_;
  bool gives_back_ = false;
  size_t taken_ = 0;
  size_t used_ = 0;  // of what is given
};

bool Unpacking::member_at_once(ByteBuffer& out) {
  if (out.in_file()) return false;
  const auto member = unpacker_->at_once(bytes_.substr(taken_), out, used_);
  if (!member) return false;
  taken_ += member->taken;
  used_ += member->given;
  return true;
}

UnpackStep Unpacking::step(ByteBuffer& out) {
  if (used_ == out.size()) out.resize(std::max<size_t>(out.size() * 2, size_t{1} << 16));
  const size_t room = std::min(out.size() - used_, out.in_file() ? kFileBlock : kMaxBlock);
  const UnpackStep step = unpacker_->step(bytes_.substr(taken_, kMaxBlock), out.data() + used_, room);
  out.give_back(used_, step.given);
  if (gives_back_) give_back(bytes_.data(), bytes_.size(), taken_, step.taken);
  return step;
}

void Unpacking::check(const UnpackStep& step) const {
  if (step.trouble != nullptr) fail("is damaged near byte " + std::to_string(taken_) + " (" + step.trouble + ")");
  if (step.ended || step.taken > 0 || step.given > 0) return;
  if (taken_ == bytes_.size()) fail("ends in the middle, after " + std::to_string(taken_) + " bytes");
  fail("is damaged near byte " + std::to_string(taken_) + " (nothing follows from it)");
}

ByteBuffer Unpacking::run(int64_t memory) {
  ByteBuffer out(memory);
  out.resize(size_t{1} << 16);
  if (memory > 0) out.resize(bytes_.size() * 4);  // a guess, so that it is known where it goes
  gives_back_ = out.in_file() && lies_in_file(bytes_.data(), bytes_.size());
  if (gives_back_) map_small_pages(bytes_.data(), bytes_.size());
  for (bool inside = false;;) {
    if (!inside && only_padding_left()) break;
    if (!inside && member_at_once(out)) continue;
    const UnpackStep step = this->step(out);
    taken_ += step.taken;
    used_ += step.given;
    check(step);
    inside = !step.ended;
  }
  out.resize(used_);
  return out;
}

}  // namespace

bool is_packed(std::string_view bytes) {
  return packing_of(bytes) != nullptr;
}

std::string without_packed_ending(std::string name) {
  for (const Packing& packing : kPackings) {
    if (name.ends_with(packing.ending)) name.resize(name.size() - std::strlen(packing.ending));
  }
  return name;
}

ByteBuffer unpack(std::string_view bytes, const std::string& path, int64_t memory) {
  const Packing* const packing = packing_of(bytes);
  if (packing == nullptr) throw Error(ErrorCode::kInternal, path, "is not packed");
  return Unpacking(*packing, bytes, path).run(memory);
}

}  // namespace manymeans
