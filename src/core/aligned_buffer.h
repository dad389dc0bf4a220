// Uninitialised memory at vector alignment; large buffers at huge-page alignment, and with huge pages where allowed.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace manymeans {

template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t count) : size_(count) {
    constexpr size_t kHugePage = size_t{2} << 20;
    const size_t alignment = count * sizeof(T) >= 4 * kHugePage ? kHugePage : 64;
    const size_t bytes = (count * sizeof(T) + alignment - 1) / alignment * alignment;
    if (bytes == 0) return;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
    if (!data_) throw std::bad_alloc();
    if (alignment == kHugePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);  // advice: refusal costs only speed
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace manymeans
