#include "io/files/peeked_file.h"

#include <utility>

namespace manymeans {
namespace {
thread_local PeekedFile* innermost = nullptr;
}  // namespace

PeekedFile::PeekedFile(std::string path, std::shared_ptr<const MappedFile> file)
    : path_(std::move(path)), file_(std::move(file)), outer_(std::exchange(innermost, this)) {}

PeekedFile::~PeekedFile() {
  innermost = outer_;
}

std::shared_ptr<const MappedFile> PeekedFile::take(const std::string& path) {
  return innermost != nullptr && innermost->path_ == path ? std::exchange(innermost->file_, nullptr) : nullptr;
}

}  // namespace manymeans
