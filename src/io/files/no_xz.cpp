// In place of unpack_xz.cpp where CMake has not found the headers of liblzma.
#include "io/files/unpacker.h"

namespace manymeans {

std::unique_ptr<Unpacker> make_xz_unpacker(const std::string& path) {
  throw no_unpacker(path, "xz", "this manymeans was built without liblzma");
}

}  // namespace manymeans
