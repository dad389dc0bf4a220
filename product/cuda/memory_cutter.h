// Several arrays in one: the driver takes microseconds for each, and a small product has ten.
#pragma once

#include <cstddef>
#include <cstdint>

namespace manymeans::cuda {

class MemoryCutter {
 public:
  static constexpr int64_t kAligned = 256;  // bytes, as the driver does it

  /// Cuts from `memory`; from none to learn how many bytes are needed.
  explicit MemoryCutter(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* cut(int64_t count) {
    std::byte* at = memory_ != nullptr ? memory_ + bytes_ : nullptr;
    bytes_ += (count * static_cast<int64_t>(sizeof(T)) + kAligned - 1) / kAligned * kAligned;
    return reinterpret_cast<T*>(at);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

}  // namespace manymeans::cuda
