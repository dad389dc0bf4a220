#include "io/files/byte_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace manymeans {

void ByteBuffer::resize(size_t size) {
  if (!in_file() && storage_for(static_cast<int64_t>(size), memory_) == Storage::kFile) {
    file_.resize(size);
    if (size_ > 0) std::memcpy(file_.data(), data_.get(), size_);
    data_.reset();
  }
  if (in_file()) {
    file_.resize(size);
    size_ = size;
    return;
  }
  char* grown = static_cast<char*>(std::realloc(data_.get(), std::max<size_t>(size, 1)));
  if (grown == nullptr) throw std::bad_alloc();
  (void)data_.release();
  data_.reset(grown);
  size_ = size;
}

void ByteBuffer::give_back(size_t first, size_t count) const {
  if (in_file()) manymeans::give_back(file_.data(), file_.size(), first, count);
}

}  // namespace manymeans
