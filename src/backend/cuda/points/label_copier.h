// Labels from the device into the host's memory.
#pragma once

#include "backend/cuda/runtime/device_memory.h"
#include "core/threads.h"

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace manymeans::cuda {

/// Copies into fresh memory at more than one thread's rate: such memory comes page by page when it is first written,
/// which takes a thread longer than the transfer. So the device writes pieces into pinned memory, from where all
/// threads take their parts while the next piece comes.
class LabelCopier {
 public:
  /// Below so many bytes of a session's labels, threads and pinned memory cost more than they save.
  static constexpr size_t kLeastBytes = size_t{4} << 20;

  /// `bytes`: about how many it will copy; its pieces are chosen by that.
  LabelCopier(int threads, size_t bytes);

  /// Copies `bytes` to each place, in this order, after what `stream` holds now; returns when all is there. from(i) may
  /// enqueue what makes the i-th source, also where the one before was.
  void copy(size_t bytes, std::span<std::byte* const> to, const std::function<const std::byte*(size_t)>& from,
            const Stream& stream);

 private:
  struct Part {
    size_t at;  // in the piece
    size_t bytes;
    std::byte* to;
  };
  struct Piece {
    PinnedBuffer<std::byte> memory;
    Event come;
    std::vector<Part> parts;
    size_t used = 0;
  };

  void empty(Piece& piece, const Stream& stream);

  ThreadPool pool_;
  std::array<Piece, 2> pieces_;
};

}  // namespace manymeans::cuda
