#include "backend/device/staging.h"

#include <algorithm>
#include <cstring>

namespace manymeans::device {
namespace {

constexpr int64_t kSendGrain = int64_t{256} << 10;
constexpr int64_t kFetchGrain = int64_t{64} << 10;

}  // namespace

Staging::Staging(const Runtime& runtime, PieceBytes bytes, int threads, const std::atomic<bool>* abort)
    : runtime_(runtime), bytes_(bytes), pool_(threads, abort) {
  for (Piece& piece : pieces_) piece.passed = runtime.make_event();
}

void Staging::make_room(Piece& piece, size_t bytes, const char* what) {
  piece.memory.reserve(runtime_, std::clamp(bytes, bytes_.least, bytes_.most), what);
}

void Staging::send(Address to, const void* from, size_t bytes, const Queue& queue, const char* what) {
  const auto* source = static_cast<const std::byte*>(from);
  for (size_t at = 0; at < bytes;) {
    Piece& piece = pieces_[next_++ % pieces_.size()];
    piece.passed->synchronize(queue, what);
    make_room(piece, bytes - at, what);
    const size_t some = std::min(piece.memory.bytes(), bytes - at);
    std::byte* const staged = piece.memory.data();
    pool_.for_each_range(static_cast<int64_t>(some), kSendGrain, [&](int, int64_t first, int64_t last) {
      std::memcpy(staged + first, source + at + first, static_cast<size_t>(last - first));
    });
    queue.copy_to_device(to + at, staged, some, what);
    piece.passed->record(queue);
    at += some;
  }
}

void Staging::fetch(size_t bytes, std::span<std::byte* const> to, const std::function<Address(size_t)>& from,
                    const Queue& queue, const char* what) {
  const Settled settled(queue);
  size_t next = 0;  // place, and what of it has been enqueued
  size_t done = 0;
  Address source;
  const auto fill = [&](Piece& piece) {
    make_room(piece, bytes * to.size(), what);
    piece.parts.clear();
    piece.used = 0;
    while (next < to.size() && piece.used < piece.memory.bytes()) {
      if (done == 0) source = from(next);
      const size_t some = std::min(bytes - done, piece.memory.bytes() - piece.used);
      queue.copy_to_host(piece.memory.data() + piece.used, source + done, some, what);
      piece.parts.push_back({piece.used, some, to[next] + done});
      piece.used += some;
      done += some;
      if (done < bytes) break;
      done = 0;
      ++next;
    }
    piece.passed->record(queue);
  };
  if (bytes == 0 || to.empty()) return;
  fill(pieces_[0]);
  for (size_t i = 0; pieces_[i].used > 0; i = 1 - i) {
    fill(pieces_[1 - i]);
    empty(pieces_[i], queue, what);
  }
}

void Staging::empty(Piece& piece, const Queue& queue, const char* what) {
  piece.passed->synchronize(queue, what);
  pool_.for_each_range(static_cast<int64_t>(piece.used), kFetchGrain, [&](int, int64_t first, int64_t last) {
    const auto begin = static_cast<size_t>(first);
    const auto end = static_cast<size_t>(last);
    for (const Part& part : piece.parts) {
      const size_t a = std::max(begin, part.at);
      const size_t b = std::min(end, part.at + part.bytes);
      if (a < b) std::memcpy(part.to + (a - part.at), piece.memory.data() + a, b - a);
    }
  });
}

std::unique_ptr<Staging> make_label_staging(const Runtime& runtime, size_t bytes, int threads) {
  const size_t piece = std::clamp(bytes / 16, size_t{1} << 20, size_t{4} << 20);
  const auto useful = static_cast<int>(std::min<int64_t>(threads, static_cast<int64_t>(piece) / kFetchGrain));
  return std::make_unique<Staging>(runtime, PieceBytes{piece, piece}, useful);
}

}  // namespace manymeans::device
