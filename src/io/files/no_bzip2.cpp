// In place of unpack_bzip2.cpp where CMake has not found the headers of libbz2.
#include "io/files/unpacker.h"

namespace manymeans {

std::unique_ptr<Unpacker> make_bzip2_unpacker(const std::string& path) {
  throw no_unpacker(path, "bzip2", "this manymeans was built without libbz2");
}

}  // namespace manymeans
