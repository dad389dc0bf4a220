#include "io/files/mapped_file.h"

#include <manymeans/error.h>

#include "core/mapped_range.h"
#include "core/memory.h"
#include "core/open_file.h"
#include "io/files/file_watch.h"
#include "io/files/peeked_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadData, path, what);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path, Access access, int64_t memory) {
  if (auto file = PeekedFile::take(path)) return file;
  const bool standard = path == kStandardInput;
  const InputFile open =
      standard ? InputFile(InputFile::StandardInput{}, path) : InputFile(path, FileKind::kRegularOrPipe);
  struct stat status {};
  if (::fstat(open.descriptor(), &status) != 0) fail(path, std::string("cannot be examined: ") + std::strerror(errno));
  std::shared_ptr<MappedFile> result(new MappedFile());
  if (S_ISREG(status.st_mode) && ::lseek(open.descriptor(), 0, SEEK_CUR) == 0) {
    if (status.st_size > 0) result->map(open.descriptor(), static_cast<size_t>(status.st_size), path, access);
  } else {
    result->read_ = ByteBuffer(memory);
    result->read_all(open);  // of a regular file, too, where somebody has read its beginning
  }
  if (result->size_ == 0) fail(path, "the file is empty (0 bytes); points are needed");
  return result;
}

void MappedFile::map(int file, size_t size, const std::string& path, Access access) {
  mapping_ = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw Error(ErrorCode::kUnavailable, path, std::string("cannot be mapped into memory: ") + std::strerror(errno));
  }
  // A file that will not fit is better read as it is needed.
  const bool fits = fits_in_half(static_cast<int64_t>(size));
  ::madvise(mapping_, size, access == Access::kOnce ? MADV_SEQUENTIAL : (fits ? MADV_WILLNEED : MADV_NORMAL));
  data_ = static_cast<const std::byte*>(mapping_);
  size_ = size;  // from here on the destructor unmaps, whatever is thrown
  range_ = std::make_shared<MappedRange>(mapping_, size, file, path);
  FileWatch::add(range_);
}

// The size is unknown: bytes that would not fit go to a file.
void MappedFile::read_all(const InputFile& file) {
  constexpr size_t kBlock = size_t{1} << 20;
  size_t used = 0;
  for (;;) {
    if (used == read_.size()) read_.resize(std::max(kBlock, used + used / 2));
    const size_t room = std::min(kBlock, read_.size() - used);
    const size_t count = file.read(read_.data() + used, room);
    read_.give_back(used, count);
    used += count;
    if (count < room) break;
  }
  read_.resize(used);
  data_ = reinterpret_cast<const std::byte*>(read_.data());
  size_ = used;
}

MappedFile::~MappedFile() {
  if (range_) range_->unmap();
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
}

}  // namespace manymeans
