#include "io/files/gzip.h"

#include <manymeans/error.h>

#include "io/files/fast_inflate.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace manymeans {
namespace {

constexpr size_t kMaxBlock = size_t{1} << 30;   // zlib counts in unsigned int
constexpr size_t kFileBlock = size_t{4} << 20;  // of a file, in memory

class Inflater {
 public:
  Inflater(const std::string& path, int64_t memory) : path_(path), memory_(memory) {
    // 15 + 16: the largest window, gzip headers and checksums.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  ByteBuffer run(std::string_view bytes);

 private:
  void make_room(ByteBuffer& out, size_t used);
  [[noreturn]] void damaged(size_t at) const {
    throw Error(ErrorCode::kBadData, path_,
                "the gzip data is damaged near byte " + std::to_string(at) + " (" +
                    (stream_.msg != nullptr ? stream_.msg : "checksum or format error") +
                    "); a whole .gz file is needed");
  }

  z_stream stream_{};
  const std::string& path_;
  int64_t memory_;
};

void Inflater::make_room(ByteBuffer& out, size_t used) {
  if (used == out.size()) out.resize(std::max<size_t>(out.size() * 2, size_t{1} << 16));
  stream_.next_out = reinterpret_cast<Bytef*>(out.data()) + used;
  stream_.avail_out = static_cast<uInt>(std::min(out.size() - used, out.in_file() ? kFileBlock : kMaxBlock));
}

ByteBuffer Inflater::run(std::string_view bytes) {
  ByteBuffer out(memory_);
  out.resize(size_t{1} << 16);
  if (memory_ > 0) out.resize(bytes.size() * 4);  // a guess, so that it is known where it goes
  const bool gives_back = out.in_file() && lies_in_file(bytes.data(), bytes.size());
  if (gives_back) map_small_pages(bytes.data(), bytes.size());
  size_t used = 0;
  size_t taken = 0;
  for (bool inside = false;;) {
    if (taken == bytes.size()) {
      if (!inside) break;
      throw Error(
          ErrorCode::kBadData, path_,
          "the gzip data ends in the middle, after " + std::to_string(taken) + " bytes; a whole .gz file is needed");
    }
    // Zeros after the last member are padding (tar, tapes); anything else must be another member.
    if (!inside &&
        std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(taken), bytes.end(), [](char c) { return c == 0; }))
      break;
    if (!inside && !out.in_file()) {
      if (const auto member = inflate_at_once(bytes.substr(taken), out, used)) {
        taken += member->taken;
        used += member->given;
        continue;
      }
    }
    inside = true;
    make_room(out, used);
    const size_t given = std::min(bytes.size() - taken, kMaxBlock);
    const size_t room = stream_.avail_out;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())) + taken;
    stream_.avail_in = static_cast<uInt>(given);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    taken += given - stream_.avail_in;
    used += room - stream_.avail_out;
    out.give_back(used - (room - stream_.avail_out), room - stream_.avail_out);
    if (gives_back) {
      manymeans::give_back(bytes.data(), bytes.size(), taken - (given - stream_.avail_in), given - stream_.avail_in);
    }
    if (code == Z_STREAM_END) {
      inside = false;
      inflateReset(&stream_);
    } else if (code == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      damaged(taken);
    }
  }
  out.resize(used);
  return out;
}

}  // namespace

void ByteBuffer::resize(size_t size) {
  if (!in_file() && storage_for(static_cast<int64_t>(size), memory_) == Storage::kFile) {
    file_.resize(size);
    if (size_ > 0) std::memcpy(file_.data(), data_.get(), size_);
    data_.reset();
  }
  if (in_file()) {
    file_.resize(size);
    size_ = size;
    return;
  }
  char* grown = static_cast<char*>(std::realloc(data_.get(), std::max<size_t>(size, 1)));
  if (grown == nullptr) throw std::bad_alloc();
  (void)data_.release();
  data_.reset(grown);
  size_ = size;
}

void ByteBuffer::give_back(size_t first, size_t count) const {
  if (in_file()) manymeans::give_back(file_.data(), file_.size(), first, count);
}

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

ByteBuffer inflate_gzip(std::string_view bytes, const std::string& path, int64_t memory) {
  return Inflater(path, memory).run(bytes);
}

}  // namespace manymeans
