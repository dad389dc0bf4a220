// Labels from the device into the host's memory.
#pragma once

#include "backend/cuda/device_memory.h"
#include "core/threads.h"

#include <array>
#include <cstddef>

namespace manymeans::cuda {

/// Copies into fresh memory at more than one thread's rate: such memory comes page by page when it is first written,
/// which takes a thread longer than the transfer. So the device writes pieces into pinned memory, from where all
/// threads take their parts while the next piece comes.
class LabelCopier {
 public:
  /// Below so many bytes of a session's labels, threads and pinned memory cost more than they save.
  static constexpr size_t kLeastBytes = size_t{4} << 20;

  explicit LabelCopier(int threads);
  /// After what `stream` holds now; returns when all is there.
  void copy(const std::byte* from, size_t bytes, std::byte* to, cudaStream_t stream);

 private:
  struct Piece {
    PinnedBuffer<std::byte> memory;
    Event come;
  };

  ThreadPool pool_;
  std::array<Piece, 2> pieces_;
};

}  // namespace manymeans::cuda
