// Copies between the host's memory and the device's at the link's rate, whatever kind of memory the host's is.
#pragma once

#include "backend/device/queue.h"
#include "core/threads.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace manymeans::device {

/// A piece is as large as what goes through it, within these bounds.
struct PieceBytes {
  size_t least = 0;
  size_t most = size_t{16} << 20;
};

/// Pieces of pinned memory that the device fills and empties while the host continues; threads do the reverse. A few
/// pieces may be under way; the next one waits for the first of them. To be used by one thread at a time.
class Staging {
 public:
  explicit Staging(const Runtime& runtime, PieceBytes bytes = {}, int threads = 1,
                   const std::atomic<bool>* abort = nullptr);

  /// Enqueues a copy whose source may go, or change, as soon as this returns.
  void send(Address to, const void* from, size_t bytes, const Queue& queue, const char* what);

  /// Copies `bytes` to each place, in this order, after the queue's present work; returns when all is there. The
  /// function from(i) may enqueue what makes the i-th source, also where the one before was. Fresh memory comes page by
  /// page when it is first written, which takes a thread longer than the transfer. Here all threads take their parts of
  /// a piece while the next one comes.
  void fetch(size_t bytes, std::span<std::byte* const> to, const std::function<Address(size_t)>& from,
             const Queue& queue, const char* what);

 private:
  struct Part {
    size_t at;  // in the piece
    size_t bytes;
    std::byte* to;
  };
  struct Piece {
    PinnedBytes memory;
    std::unique_ptr<Event> passed;  // by the device
    std::vector<Part> parts;        // of a piece that is fetched
    size_t used = 0;
  };

  void make_room(Piece& piece, size_t bytes, const char* what);
  void empty(Piece& piece, const Queue& queue, const char* what);

  const Runtime& runtime_;
  PieceBytes bytes_;
  ThreadPool pool_;
  std::array<Piece, 4> pieces_;
  size_t next_ = 0;
};

/// For fetching about `bytes` bytes of labels. Pinning memory takes longer than using it. Every thread has a part of a
/// piece to copy.
std::unique_ptr<Staging> make_label_staging(const Runtime& runtime, size_t bytes, int threads);
/// Below this many bytes of a session's labels, threads and pinned memory cost more than they save.
constexpr size_t kMinStagedLabels = size_t{4} << 20;

}  // namespace manymeans::device
