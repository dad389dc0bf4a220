// .bz2 files, by the system's libbz2.
#include "io/files/system_library.h"
#include "io/files/unpacker.h"

#include <bzlib.h>

#include <new>

namespace manymeans {
namespace {

struct Bzip2 {
  SystemLibrary library{"libbz2.so.1.0", "libbz2.so.1"};  // Debian's name, and the name on other systems
  decltype(&BZ2_bzDecompressInit) begin = nullptr;
  decltype(&BZ2_bzDecompress) decompress = nullptr;
  decltype(&BZ2_bzDecompressEnd) end = nullptr;

  Bzip2() {
    library.find(begin, "BZ2_bzDecompressInit");
    library.find(decompress, "BZ2_bzDecompress");
    library.find(end, "BZ2_bzDecompressEnd");
  }
};

const Bzip2& bzip2() {
  static const auto& kBzip2 = *new Bzip2;  // never destroyed
  return kBzip2;
}

class Bzip2Unpacker : public Unpacker {
 public:
  Bzip2Unpacker() { begin(); }
  ~Bzip2Unpacker() override { bzip2().end(&stream_); }

  UnpackStep step(std::string_view packed, char* to, size_t room) override {
    stream_.next_in = const_cast<char*>(packed.data());
    stream_.avail_in = static_cast<unsigned int>(packed.size());
    stream_.next_out = to;
    stream_.avail_out = static_cast<unsigned int>(room);
    const int code = bzip2().decompress(&stream_);
    UnpackStep step{packed.size() - stream_.avail_in, room - stream_.avail_out, code == BZ_STREAM_END};
    if (code == BZ_MEM_ERROR) throw std::bad_alloc();
    if (step.ended) {
      bzip2().end(&stream_);
      begin();
    } else if (code != BZ_OK) {
      step.trouble = code == BZ_DATA_ERROR_MAGIC ? "no stream of bzip2 begins here" : "checksum or format error";
    }
    return step;
  }

 private:
  void begin() {
    stream_ = {};
    if (bzip2().begin(&stream_, /*verbosity=*/0, /*small=*/0) != BZ_OK) throw std::bad_alloc();
  }
  bz_stream stream_{};
};

}  // namespace

std::unique_ptr<Unpacker> make_bzip2_unpacker(const std::string& path) {
  if (!bzip2().library.complete()) throw no_unpacker(path, "bzip2", bzip2().library.why());
  return std::make_unique<Bzip2Unpacker>();
}

}  // namespace manymeans
