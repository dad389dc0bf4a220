#include "backend/cuda/points/label_copier.h"

#include <algorithm>
#include <cstring>

namespace manymeans::cuda {
namespace {

constexpr size_t kLeastPiece = size_t{1} << 20;
constexpr size_t kMostPiece = size_t{4} << 20;  // pinning memory takes longer than using it
constexpr int64_t kCopyGrain = int64_t{64} << 10;

size_t piece_bytes(size_t bytes) {
  return std::clamp(bytes / 16, kLeastPiece, kMostPiece);
}

// Those that have a part of a piece to copy.
int useful_threads(int threads, size_t bytes) {
  return static_cast<int>(std::min<int64_t>(threads, static_cast<int64_t>(piece_bytes(bytes)) / kCopyGrain));
}

}  // namespace

LabelCopier::LabelCopier(int threads, size_t bytes) : pool_(useful_threads(threads, bytes)) {
  for (Piece& piece : pieces_) piece.memory = PinnedBuffer<std::byte>(piece_bytes(bytes), "pieces of the labels");
}

void LabelCopier::copy(size_t bytes, std::span<std::byte* const> to,
                       const std::function<const std::byte*(size_t)>& from, const Stream& stream) {
  const Settled settled(stream);
  size_t next = 0;  // place, and what of it has been enqueued
  size_t done = 0;
  const std::byte* source = nullptr;
  const auto fill = [&](Piece& piece) {
    piece.parts.clear();
    piece.used = 0;
    while (next < to.size() && piece.used < piece.memory.size()) {
      if (done == 0) source = from(next);
      const size_t some = std::min(bytes - done, piece.memory.size() - piece.used);
      copy_to_host(piece.memory, piece.used, source + done, some, stream, "labels");
      piece.parts.push_back({piece.used, some, to[next] + done});
      piece.used += some;
      done += some;
      if (done < bytes) break;
      done = 0;
      ++next;
    }
    piece.come.record(stream);
  };
  if (bytes == 0) return;
  fill(pieces_[0]);
  for (size_t i = 0; pieces_[i].used > 0; i = 1 - i) {
    fill(pieces_[1 - i]);
    empty(pieces_[i], stream);
  }
}

void LabelCopier::empty(Piece& piece, const Stream& stream) {
  piece.come.synchronize(stream, "fetching labels");
  pool_.for_each_range(static_cast<int64_t>(piece.used), kCopyGrain, [&](int, int64_t first, int64_t last) {
    const auto begin = static_cast<size_t>(first);
    const auto end = static_cast<size_t>(last);
    for (const Part& part : piece.parts) {
      const size_t a = std::max(begin, part.at);
      const size_t b = std::min(end, part.at + part.bytes);
      if (a < b) std::memcpy(part.to + (a - part.at), piece.memory.data() + a, b - a);
    }
  });
}

}  // namespace manymeans::cuda
