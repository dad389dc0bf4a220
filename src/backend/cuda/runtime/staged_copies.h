// Copies to the device whose source may go at once.
#pragma once

#include "backend/cuda/runtime/device_memory.h"

#include <array>
#include <cstring>

namespace manymeans::cuda {

/// Pinned memory from which the device fetches copies while the host goes on: whoever asks for one may forget or change
/// what was copied as soon as the call returns. A few copies may be under way; the next one waits for the first of
/// them.
class StagedCopies {
 public:
  template <class T>
  void copy(T* to, const T* from, size_t count, const Stream& stream, const char* what) {
    if (count == 0) return;
    Piece& piece = pieces_[next_++ % pieces_.size()];
    piece.sent.synchronize(stream, what);
    piece.memory.reserve(count * sizeof(T), what);
    std::memcpy(piece.memory.data(), from, count * sizeof(T));
    copy_to_device(reinterpret_cast<std::byte*>(to), piece.memory.data(), count * sizeof(T), stream, what);
    piece.sent.record(stream);
  }

 private:
  struct Piece {
    PinnedBuffer<std::byte> memory;
    Event sent;
  };

  std::array<Piece, 4> pieces_;
  size_t next_ = 0;
};

}  // namespace manymeans::cuda
