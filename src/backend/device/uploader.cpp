#include "backend/device/uploader.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace manymeans::device {
namespace {

// Measured on two H100 (bench/results/h200/two_links): large pieces keep the link busy, small ones all threads.
constexpr size_t kSmallPiece = size_t{512} << 10, kLargePiece = size_t{1} << 20;
constexpr int kMaxThreads = 8;     // read memory as fast as a link takes it
constexpr int64_t kMaxPlaces = 3;  // of a thread: one is filled while the others are on their way
constexpr int64_t kFewPlaces = 8;  // of all threads at least, if there are enough pieces
constexpr int64_t kMinRounds = 8;  // through all places else: pinning takes time, too

int64_t pieces_of(size_t bytes, size_t piece) {
  return std::max<int64_t>(1, static_cast<int64_t>((bytes + piece - 1) / piece));
}

}  // namespace

Uploader::Ring Uploader::Ring::of(size_t bytes, int threads) {
  threads = std::min(threads, kMaxThreads);
  const bool large = pieces_of(bytes, kLargePiece) >= kMinRounds * kMaxPlaces * threads;
  const size_t piece = large ? kLargePiece : kSmallPiece;
  const int64_t pieces = pieces_of(bytes, piece);
  const int64_t least = std::min(pieces, kFewPlaces), most = std::max(least, kMaxPlaces * threads);
  const int64_t places = std::clamp(pieces / kMinRounds, least, most);
  return {piece, static_cast<int>(std::min<int64_t>(threads, places)), static_cast<int>(places)};
}

Uploader::Uploader(const Runtime& runtime, size_t most, const Host& host)
    : runtime_(runtime),
      abort_(host.abort),
      ring_(Ring::of(most, host.threads)),
      pool_(ring_.threads, host.abort),
      passed_(static_cast<size_t>(ring_.places / pool_.size() * pool_.size())) {
  for (std::unique_ptr<Event>& passed : passed_) passed = runtime.make_event();
}

// One call of send().
struct Uploader::Sending {
  Uploader& uploader;
  Address to;
  const std::byte* from;
  size_t bytes;
  const Queue& queue;
  const char* what;
  std::atomic<size_t> next{0};  // byte that no thread has taken
  std::mutex handing_over;      // a queue takes work from one thread at a time

  // Late work is given up under the lock that allows use of the queue.
  void await(const Event& passed) {
    const Waited waited = passed.await(queue, what);
    if (waited.answer == Answer::kDone) return;
    const std::lock_guard lock(handing_over);
    if (waited.answer == Answer::kTooLate) queue.give_up();
    check_answer(waited, queue.patience(), 1, what, queue.runtime().name());
  }

  void copy(int worker) {
    if (worker > 0) queue.bind_thread();
    const size_t piece = uploader.ring_.piece;
    const size_t places = uploader.passed_.size() / static_cast<size_t>(uploader.pool_.size());
    const size_t first = static_cast<size_t>(worker) * places;
    for (size_t turn = 0;; ++turn) {
      const size_t begin = next.fetch_add(piece);
      if (begin >= bytes) return;
      check_abort(uploader.abort_);
      const size_t place = first + turn % places, some = std::min(piece, bytes - begin);
      Event& passed = *uploader.passed_[place];
      std::byte* const staged = uploader.memory_.data() + place * piece;
      await(passed);
      std::memcpy(staged, from + begin, some);
      const std::lock_guard lock(handing_over);
      queue.copy_to_device(to + begin, staged, some, what);
      passed.record(queue);
    }
  }
};

void Uploader::send(Address to, const void* from, size_t bytes, const Queue& queue, const char* what) {
  if (bytes == 0) return;
  if (runtime_.is_pinned(from)) return queue.copy_to_device(to, from, bytes, what);
  if (memory_.empty()) memory_ = PinnedBytes(runtime_, passed_.size() * ring_.piece, what);
  Sending sending{*this, to, static_cast<const std::byte*>(from), bytes, queue, what, {}, {}};
  pool_.run([&](int worker) {
    try {
      sending.copy(worker);
    } catch (...) {
      sending.next = bytes;  // the others need not go on
      throw;
    }
  });
}

}  // namespace manymeans::device
