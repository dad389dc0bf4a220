#include "backend/cuda/label_copier.h"

#include <algorithm>
#include <cstring>

namespace manymeans::cuda {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int64_t kCopyGrain = int64_t{64} << 10;

}  // namespace

LabelCopier::LabelCopier(int threads) : pool_(threads) {
  for (Piece& piece : pieces_) piece.memory = PinnedBuffer<std::byte>(kPieceBytes, "pieces of the labels");
}

void LabelCopier::copy(const std::byte* from, size_t bytes, std::byte* to, cudaStream_t stream) {
  const auto size_at = [&](size_t at) { return std::min(kPieceBytes, bytes - at); };
  const auto fetch = [&](size_t at) {
    if (at >= bytes) return;
    Piece& piece = pieces_[at / kPieceBytes % pieces_.size()];
    copy_to_host(piece.memory.data(), from + at, size_at(at), stream, "labels");
    piece.come.record(stream);
  };
  fetch(0);
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    fetch(at + kPieceBytes);
    const Piece& piece = pieces_[at / kPieceBytes % pieces_.size()];
    piece.come.synchronize("fetching labels");
    const std::byte* const staged = piece.memory.data();
    pool_.for_each_range(static_cast<int64_t>(size_at(at)), kCopyGrain, [&](int, int64_t first, int64_t last) {
      std::memcpy(to + at + first, staged + first, static_cast<size_t>(last - first));
    });
  }
}

}  // namespace manymeans::cuda
