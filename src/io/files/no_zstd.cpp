// In place of unpack_zstd.cpp where CMake has not found the headers of libzstd.
#include "io/files/unpacker.h"

namespace manymeans {

std::unique_ptr<Unpacker> make_zstd_unpacker(const std::string& path) {
  throw no_unpacker(path, "zstd", "this manymeans was built without libzstd");
}

}  // namespace manymeans
