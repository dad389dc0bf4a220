// .zst files, by the system's libzstd.
#include "io/files/system_library.h"
#include "io/files/unpacker.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>

namespace manymeans {
namespace {

struct Zstd {
  SystemLibrary library{"libzstd.so.1"};
  decltype(&ZSTD_createDCtx) create = nullptr;
  decltype(&ZSTD_freeDCtx) free = nullptr;
  decltype(&ZSTD_decompressStream) decompress = nullptr;
  decltype(&ZSTD_isError) is_error = nullptr;
  decltype(&ZSTD_getErrorName) error_name = nullptr;
  decltype(&ZSTD_getErrorCode) error_code = nullptr;

  Zstd() {
    library.find(create, "ZSTD_createDCtx");
    library.find(free, "ZSTD_freeDCtx");
    library.find(decompress, "ZSTD_decompressStream");
    library.find(is_error, "ZSTD_isError");
    library.find(error_name, "ZSTD_getErrorName");
    library.find(error_code, "ZSTD_getErrorCode");
  }
};

const Zstd& zstd() {
  static const auto& kZstd = *new Zstd;  // never destroyed
  return kZstd;
}

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : context_(zstd().create()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdUnpacker() override { zstd().free(context_); }

  UnpackStep step(std::string_view packed, char* to, size_t room) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{to, room, 0};
    const size_t left = zstd().decompress(context_, &out, &in);
    UnpackStep step{in.pos, out.pos, left == 0};
    if (zstd().is_error(left) == 0) return step;
    step.ended = false;
    step.trouble = zstd().error_name(left);
    switch (zstd().error_code(left)) {
      case ZSTD_error_memory_allocation: throw std::bad_alloc();
      case ZSTD_error_frameParameter_windowTooLarge:  // more than the library allows for an unknown file
        step.trouble = "its window is larger than 128 MiB; pack it again without --long, or with --long=27";
        break;
      default: break;
    }
    return step;
  }

 private:
  ZSTD_DCtx* context_;
};

}  // namespace

std::unique_ptr<Unpacker> make_zstd_unpacker(const std::string& path) {
  if (!zstd().library.complete()) throw no_unpacker(path, "zstd", zstd().library.why());
  return std::make_unique<ZstdUnpacker>();
}

}  // namespace manymeans
