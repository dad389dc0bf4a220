#include "backend/device/uploader.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace manymeans::device {
namespace {

constexpr size_t kPieceBytes = size_t{512} << 10;
constexpr size_t kMostPlaces = 32;
constexpr size_t kPartsOfPlaces = 8;  // of which one at most is sent together
constexpr int kFewThreads = 4;        // of which the one that speaks to the device has time to copy as well

size_t places_for(size_t bytes) {
  return std::clamp<size_t>((bytes + kPieceBytes - 1) / kPieceBytes, 1, kMostPlaces);
}

}  // namespace

Uploader::Uploader(const Runtime& runtime, size_t most, const Host& host)
    : runtime_(runtime),
      abort_(host.abort),
      places_(places_for(most)),
      pool_(std::min(host.threads, static_cast<int>(places_.size())), host.abort) {
  for (Place& place : places_) place.passed = runtime.make_event();
}

// One call of send(). Piece i goes through place i, round and round. A place's turn is 2 i when piece i may be put
// there, 2 i + 1 when it is there, and kOver when nobody is to wait for it any more.
struct Uploader::Sending {
  static constexpr int64_t kOver = -2;

  Uploader& uploader;
  Address to;
  const std::byte* from;
  size_t bytes;
  const Queue& queue;
  const char* what;
  int64_t pieces = static_cast<int64_t>((bytes + kPieceBytes - 1) / kPieceBytes);
  int64_t offered = 0;           // pieces that may be put in their places, or are there
  int64_t sent = 0;              // pieces that the queue has
  std::atomic<int64_t> next{0};  // piece that no thread has taken

  Place& place_of(int64_t piece) const {
    const size_t count = uploader.places_.size();
    return uploader.places_[(uploader.next_place_ + static_cast<size_t>(piece)) % count];
  }
  size_t begin_of(int64_t piece) const { return static_cast<size_t>(piece) * kPieceBytes; }
  size_t bytes_of(int64_t piece) const { return std::min(kPieceBytes, bytes - begin_of(piece)); }

  void put(int64_t piece) {
    Place& place = place_of(piece);
    std::memcpy(place.memory, from + begin_of(piece), bytes_of(piece));
    int64_t turn = 2 * piece;
    place.turn.compare_exchange_strong(turn, 2 * piece + 1);
    place.turn.notify_all();
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
      const std::atomic<int64_t>& turn = place_of(piece).turn;
      for (int64_t now = turn; now != 2 * piece; now = turn) {
        if (now == kOver) return;
        await_change(turn, now);
      }
      put(piece);
    }
  }

  bool is_there(int64_t piece) const { return piece < offered && place_of(piece).turn == 2 * piece + 1; }

  // As many pieces as are there and lie one after the other.
  void hand_to_queue() {
    const int64_t first = sent;
    const std::byte* const memory = place_of(first).memory;
    const auto most = static_cast<int64_t>(uploader.places_.size() / kPartsOfPlaces);
    do {
      ++sent;
    } while (sent < first + most && is_there(sent) && place_of(sent).memory > memory);
    queue.copy_to_device(to + begin_of(first), memory, begin_of(sent - 1) + bytes_of(sent - 1) - begin_of(first), what);
    Event& passed = *place_of(sent - 1).passed;
    passed.record(queue);
    for (int64_t piece = first; piece < sent; ++piece) place_of(piece).awaited = &passed;
  }

  // The next place, once the device has passed it.
  void offer() {
    Place& place = place_of(offered);
    if (place.awaited != nullptr) place.awaited->synchronize(queue, what);
    place.turn = 2 * offered;
    place.turn.notify_all();
    ++offered;
  }

  // Of the thread that speaks to the device: puts a piece that no other has taken, or waits for the one that is next.
  void help_or_wait() {
    int64_t piece = next;
    const bool helps = uploader.pool_.size() < kFewThreads;
    if (helps && piece < offered && next.compare_exchange_strong(piece, piece + 1)) return put(piece);
    await_change(place_of(sent).turn, 2 * sent);
  }

  // Half of the places are for threads that copy, so that the device has the other half to read meanwhile.
  void hand_over() {
    const auto places = static_cast<int64_t>(uploader.places_.size());
    while (sent < pieces) {
      check_abort(uploader.abort_);
      if (is_there(sent)) {
        hand_to_queue();
      } else if (offered < std::min(pieces, sent + (places + 1) / 2)) {
        offer();
      } else {
        help_or_wait();
      }
    }
  }

  void end() {
    for (Place& place : uploader.places_) {
      place.turn = kOver;
      place.turn.notify_all();
    }
  }
};

void Uploader::send(Address to, const void* from, size_t bytes, const Queue& queue, const char* what) {
  if (bytes == 0) return;
  if (runtime_.is_pinned(from)) return queue.copy_to_device(to, from, bytes, what);
  if (memory_.empty()) {
    memory_ = PinnedBytes(runtime_, places_.size() * kPieceBytes, what);
    for (size_t i = 0; i < places_.size(); ++i) places_[i].memory = memory_.data() + i * kPieceBytes;
  }
  for (Place& place : places_) place.turn = -1;
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
  next_place_ = (next_place_ + static_cast<size_t>(sending.pieces)) % places_.size();
}

}  // namespace manymeans::device
