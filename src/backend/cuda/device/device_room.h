// The device memory of an object, listed once: the lines that count it for the plan also allocate it.
#pragma once

#include "backend/cuda/runtime/device_memory.h"

#include <cstdint>

namespace manymeans::cuda {

class DeviceRoom {
 public:
  enum class Mode : uint8_t { kCount, kAllocate };
  explicit DeviceRoom(Mode mode) : mode_(mode) {}

  /// Gives the buffer `count` elements, or only counts them. `what` names them in the message that they do not fit.
  template <class T>
  void hold(DeviceBuffer<T>& buffer, int64_t count, const char* what) {
    bytes_ += count * static_cast<int64_t>(sizeof(T));
    if (mode_ == Mode::kAllocate) buffer = DeviceBuffer<T>(static_cast<size_t>(count), what);
  }
  int64_t bytes() const { return bytes_; }

  /// Returns the bytes that lay_out(room) would allocate.
  template <class LayOut>
  static int64_t counted(const LayOut& lay_out) {
    DeviceRoom room(Mode::kCount);
    lay_out(room);
    return room.bytes();
  }

 private:
  Mode mode_;
  int64_t bytes_ = 0;
};

}  // namespace manymeans::cuda
