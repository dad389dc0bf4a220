#include <manymeans/points.h>

#include "core/file_memory.h"
#include "core/label_width.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace manymeans {

Labels::Labels(int64_t n, int64_t k, bool in_file) : n_(n), width_(label_width(k)), in_file_(in_file && n > 0) {
  if (n == 0) return;
  if (in_file_) {
    bytes_ = map_temporary(size_of_bytes());
    return;
  }
  bytes_ = static_cast<std::byte*>(std::calloc(size_of_bytes(), 1));
  if (bytes_ == nullptr) throw std::bad_alloc();
}

Labels::Labels(const Labels& other)
    : Labels(other.n_, other.width_ == 1 ? 1 : (other.width_ == 2 ? 65536 : int64_t{1} << 32), other.in_file_) {
  if (n_ > 0) std::memcpy(bytes_, other.bytes_, size_of_bytes());
}

Labels& Labels::operator=(const Labels& other) {
  Labels copy(other);
  swap(copy);
  return *this;
}

Labels::~Labels() {
  if (in_file_) {
    unmap_temporary(bytes_, size_of_bytes());
  } else {
    std::free(bytes_);
  }
}

void Labels::give_back(int64_t first, int64_t count) const {
  if (!in_file_) return;
  const auto width = static_cast<size_t>(width_);
  manymeans::give_back(bytes_, size_of_bytes(), static_cast<size_t>(first) * width, static_cast<size_t>(count) * width);
}

void Labels::read(int64_t first, int64_t count, uint32_t* out) const {
  with_label_type(width_, [&]<class T>(T) {
    const T* from = reinterpret_cast<const T*>(bytes_) + first;
    for (int64_t i = 0; i < count; ++i) out[i] = from[i];
  });
}

void Labels::write(int64_t first, int64_t count, const uint32_t* labels) {
  with_label_type(width_, [&]<class T>(T) {
    T* to = reinterpret_cast<T*>(bytes_) + first;
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(labels[i]);
  });
}

}  // namespace manymeans
