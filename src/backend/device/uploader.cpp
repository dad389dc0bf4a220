#include "backend/device/uploader.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace manymeans::device {
namespace {

constexpr int64_t kPieceBytes = int64_t{512} << 10;
constexpr int64_t kMostBatches = 8;  // that have places: half of them are filled, half of them are on their way
constexpr int64_t kMostTogether = 8;
constexpr int64_t kLeastRounds = 8;  // through all places, where there are enough pieces: pinning takes time, too
constexpr int kFewThreads = 4;       // of which the one that speaks to the device has to copy as well

int64_t pieces_of(size_t bytes) {
  return (static_cast<int64_t>(bytes) + kPieceBytes - 1) / kPieceBytes;
}

int64_t batch_for(size_t bytes) {
  return std::clamp<int64_t>(pieces_of(bytes) / (kLeastRounds * kMostBatches), 1, kMostTogether);
}

int64_t batches_for(size_t bytes) {
  return std::clamp<int64_t>(pieces_of(bytes) / batch_for(bytes), 1, kMostBatches);
}

}  // namespace

Uploader::Uploader(const Runtime& runtime, size_t most, const Host& host)
    : runtime_(runtime),
      abort_(host.abort),
      batch_(batch_for(most)),
      passed_(static_cast<size_t>(batches_for(most))),
      turns_(passed_.size() * static_cast<size_t>(batch_)),
      pool_(std::min(host.threads, static_cast<int>(turns_.size())), host.abort) {
  for (std::unique_ptr<Event>& passed : passed_) passed = runtime.make_event();
}

// One call of send(). Piece i goes through place i, round and round. A place's turn is 2 i when piece i may be put
// there, 2 i + 1 when it is there, and kOver when nobody is to wait for it any more.
struct Uploader::Sending {
  static constexpr int64_t kNobody = -1;
  static constexpr int64_t kOver = -2;

  Uploader& uploader;
  Address to;
  const std::byte* from;
  size_t bytes;
  const Queue& queue;
  const char* what;
  int64_t pieces = pieces_of(bytes);
  int64_t batches = (pieces + uploader.batch_ - 1) / uploader.batch_;
  int64_t offered = 0;           // batches whose pieces may be put in their places, or are there
  int64_t sent = 0;              // batches that the queue has
  std::atomic<int64_t> next{0};  // piece that no thread has taken

  size_t place_of(int64_t piece) const { return static_cast<size_t>(piece) % uploader.turns_.size(); }
  std::atomic<int64_t>& turn_of(int64_t piece) const { return uploader.turns_[place_of(piece)]; }
  std::byte* memory_of(int64_t piece) const {
    return uploader.memory_.data() + place_of(piece) * static_cast<size_t>(kPieceBytes);
  }
  Event& passed_of(int64_t batch) const {
    return *uploader.passed_[static_cast<size_t>(batch) % uploader.passed_.size()];
  }
  int64_t first_of(int64_t batch) const { return std::min(pieces, batch * uploader.batch_); }
  size_t begin_of(int64_t piece) const { return std::min(bytes, static_cast<size_t>(piece * kPieceBytes)); }

  void put(int64_t piece) const {
    std::memcpy(memory_of(piece), from + begin_of(piece), begin_of(piece + 1) - begin_of(piece));
    int64_t turn = 2 * piece;
    turn_of(piece).compare_exchange_strong(turn, 2 * piece + 1);
    turn_of(piece).notify_all();
  }

  // What changes soon is not slept for.
  static void await_change(const std::atomic<int64_t>& turn, int64_t from) {
    constexpr int kLooks = 64;
    for (int i = 0; i < kLooks; ++i) {
      if (turn != from) return;
      std::this_thread::yield();
    }
    turn.wait(from);
  }

  // Of a thread that only copies.
  void put_all() {
    for (int64_t piece = next++; piece < pieces; piece = next++) {
      const std::atomic<int64_t>& turn = turn_of(piece);
      for (int64_t now = turn; now != 2 * piece; now = turn) {
        if (now == kOver) return;
        await_change(turn, now);
      }
      put(piece);
    }
  }

  // The next batch's pieces may be put in their places, once the device has passed those.
  void offer() {
    passed_of(offered).synchronize(queue, what);
    for (int64_t piece = first_of(offered); piece < first_of(offered + 1); ++piece) {
      turn_of(piece) = 2 * piece;
      turn_of(piece).notify_all();
    }
    ++offered;
  }

  // Whether no place is used twice.
  bool all_at_once() const { return batches <= static_cast<int64_t>(uploader.passed_.size()); }

  // Until all pieces of the next batch are there; puts those that no other thread has taken.
  void await_pieces() {
    const bool helps = uploader.pool_.size() < kFewThreads || all_at_once();
    for (int64_t piece = first_of(sent); piece < first_of(sent + 1); ++piece) {
      while (turn_of(piece) != 2 * piece + 1) {
        int64_t mine = next;
        const bool free = helps && mine < first_of(offered);
        if (free && next.compare_exchange_strong(mine, mine + 1)) {
          put(mine);
        } else if (!free) {
          await_change(turn_of(piece), 2 * piece);
        }
      }
    }
  }

  void send_batch() {
    const size_t begin = begin_of(first_of(sent));
    queue.copy_to_device(to + begin, memory_of(first_of(sent)), begin_of(first_of(sent + 1)) - begin, what);
    passed_of(sent).record(queue);
    ++sent;
  }

  void hand_over() {
    const auto places = static_cast<int64_t>(uploader.passed_.size());
    const int64_t ahead = all_at_once() ? places : (places + 1) / 2;
    while (sent < batches) {
      check_abort(uploader.abort_);
      while (offered < std::min(batches, sent + ahead)) offer();
      await_pieces();
      send_batch();
    }
  }

  void end() {
    for (std::atomic<int64_t>& turn : uploader.turns_) {
      turn = kOver;
      turn.notify_all();
    }
  }
};

void Uploader::send(Address to, const void* from, size_t bytes, const Queue& queue, const char* what) {
  if (bytes == 0) return;
  if (runtime_.is_pinned(from)) return queue.copy_to_device(to, from, bytes, what);
  if (memory_.empty()) memory_ = PinnedBytes(runtime_, turns_.size() * static_cast<size_t>(kPieceBytes), what);
  for (std::atomic<int64_t>& turn : turns_) turn = Sending::kNobody;
  Sending sending{*this, to, static_cast<const std::byte*>(from), bytes, queue, what};
  pool_.run([&](int worker) {
    if (worker > 0) return sending.put_all();
    try {
      sending.hand_over();
    } catch (...) {
      sending.end();
      throw;
    }
  });
}

}  // namespace manymeans::device
