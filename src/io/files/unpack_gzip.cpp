// .gz files, by zlib, and by libdeflate where that is faster.
#include "io/files/unpacker.h"

#include <zlib.h>

#include <new>

namespace manymeans {
namespace {

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() {
    // 15 + 16: the largest window, gzip headers and checksums.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  UnpackStep step(std::string_view packed, char* to, size_t room) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    UnpackStep step{packed.size() - stream_.avail_in, room - stream_.avail_out, code == Z_STREAM_END};
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (step.ended) {
      inflateReset(&stream_);
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      step.trouble = stream_.msg != nullptr ? stream_.msg : "checksum or format error";
    }
    return step;
  }
  std::optional<InflatedMember> at_once(std::string_view packed, ByteBuffer& out, size_t used) override {
    return inflate_at_once(packed, out, used);
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<Unpacker> make_gzip_unpacker(const std::string&) {
  return std::make_unique<GzipUnpacker>();
}

}  // namespace manymeans
