// Stands in for src/io/files/mapped_file.cpp: the linker takes this one. No system call an execution, and an allocation
// of exactly the file's size, so that the address sanitizer sees a read of the byte behind it.
#include "memory_file.h"

#include <manymeans/error.h>

#include "io/files/mapped_file.h"

#include <cstring>

namespace manymeans {
namespace {
std::span<const uint8_t> held;
}

namespace fuzz {
std::string hold(std::span<const uint8_t> bytes) {
  held = bytes;
  return "memory";
}
}  // namespace fuzz

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path, Access, int64_t) {
  if (held.empty()) throw Error(ErrorCode::kBadData, path, "the file is empty (0 bytes); points are needed");
  std::shared_ptr<MappedFile> result(new MappedFile());
  result->size_ = held.size();
  result->mapping_ = ::operator new(held.size());
  std::memcpy(result->mapping_, held.data(), held.size());
  result->data_ = static_cast<const std::byte*>(result->mapping_);
  return result;
}

MappedFile::~MappedFile() {
  ::operator delete(mapping_);
}

}  // namespace manymeans
