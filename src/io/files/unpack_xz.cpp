// .xz files, by the system's liblzma.
#include "io/files/system_library.h"
#include "io/files/unpacker.h"

#include <lzma.h>

#include <new>

namespace manymeans {
namespace {

// The memory that a file may ask for, whatever it claims; xz -9 takes half of it.
constexpr uint64_t kMaxMemory = uint64_t{128} << 20;

struct Lzma {
  SystemLibrary library{"liblzma.so.5"};
  decltype(&lzma_stream_decoder) begin = nullptr;
  decltype(&lzma_code) code = nullptr;
  decltype(&lzma_end) end = nullptr;

  Lzma() {
    library.find(begin, "lzma_stream_decoder");
    library.find(code, "lzma_code");
    library.find(end, "lzma_end");
  }
};

const Lzma& lzma() {
  static const auto& kLzma = *new Lzma;  // never destroyed
  return kLzma;
}

const char* trouble_of(lzma_ret code) {
  switch (code) {
    case LZMA_FORMAT_ERROR: return "no stream of xz begins here";
    case LZMA_OPTIONS_ERROR: return "it was packed in a way that this liblzma does not know";
    case LZMA_MEMLIMIT_ERROR: return "unpacking takes more than 128 MiB; pack it again with xz -9 or less";
    default: return "checksum or format error";
  }
}

class XzUnpacker : public Unpacker {
 public:
  XzUnpacker() { begin(); }
  ~XzUnpacker() override { lzma().end(&stream_); }

  UnpackStep step(std::string_view packed, char* to, size_t room) override {
    stream_.next_in = reinterpret_cast<const uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<uint8_t*>(to);
    stream_.avail_out = room;
    const lzma_ret code = lzma().code(&stream_, LZMA_RUN);
    UnpackStep step{packed.size() - stream_.avail_in, room - stream_.avail_out, code == LZMA_STREAM_END};
    if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (step.ended) {
      begin();
    } else if (code != LZMA_OK && code != LZMA_BUF_ERROR) {
      step.trouble = trouble_of(code);
    }
    return step;
  }

 private:
  void begin() {
    if (lzma().begin(&stream_, kMaxMemory, 0) != LZMA_OK) throw std::bad_alloc();
  }
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::unique_ptr<Unpacker> make_xz_unpacker(const std::string& path) {
  if (!lzma().library.complete()) throw no_unpacker(path, "xz", lzma().library.why());
  return std::make_unique<XzUnpacker>();
}

}  // namespace manymeans
