// Uninitialised memory at vector alignment; large buffers at huge-page alignment, and with huge pages where allowed.
// Or zeros in a file, whose pages can be given back.
#pragma once

#include "core/file_memory.h"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

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
    if (alignment == kHugePage) want_huge_pages(data_.get(), bytes);
  }

  AlignedBuffer(size_t count, Storage storage) : AlignedBuffer(storage == Storage::kMemory ? count : 0) {
    if (storage == Storage::kMemory || count == 0) return;
    size_ = count;
    data_.get_deleter().mapped = count * sizeof(T);
    data_.reset(reinterpret_cast<T*>(map_temporary(count * sizeof(T))));
  }

  AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  /// These values are not needed for now: what lies in a file need not stay in memory.
  void give_back(size_t first, size_t count) const {
    const size_t mapped = data_.get_deleter().mapped;
    if (mapped > 0) manymeans::give_back(data_.get(), mapped, first * sizeof(T), count * sizeof(T));
  }

  /// Hands memory that belongs to no file over to the caller, who calls std::free.
  T* release() {
    size_ = 0;
    return data_.release();
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    size_t mapped = 0;  // bytes of a file
    void operator()(T* p) const {
      if (mapped > 0) {
        unmap_temporary(reinterpret_cast<std::byte*>(p), mapped);
      } else {
        std::free(p);
      }
    }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

}  // namespace manymeans
