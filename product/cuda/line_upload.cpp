#include "product/cuda/line_upload.h"

#include "core/data_type.h"

#include <algorithm>
#include <cstring>

namespace manymeans::cuda {
namespace {

template <class Word>
void copy_values(const std::byte* from, int64_t stride, int64_t count, std::byte* to) {
  const auto* values = reinterpret_cast<const Word*>(from);
  auto* out = reinterpret_cast<Word*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = values[i * stride];
}

}  // namespace

LineUpload::LineUpload(const ProductLines& lines, int64_t piece_bytes, ThreadPool& pool)
    : lines_(lines),
      value_bytes_(static_cast<int64_t>(size_of(lines.type))),
      piece_bytes_(piece_bytes),
      pool_(pool),
      staging_(runtime(), {}, pool.size(), pool.abort()) {}

// As many lines, or values of all lines, as a piece may hold: whole units of what is packed.
int64_t LineUpload::piece_outer(int64_t inner) const {
  const int64_t unit = outer_unit();
  return std::max<int64_t>(1, piece_bytes_ / std::max<int64_t>(1, inner * value_bytes_) / unit) * unit;
}

// The result never falls as `lines` grows: the last block has fewer lines, and a piece may hold more values of them.
int64_t LineUpload::bytes(int64_t lines) const {
  const int64_t inner = along_lines() ? lines_.depth : lines;
  const int64_t outer = along_lines() ? lines : lines_.depth;
  return std::min(outer * inner * value_bytes_, std::max(piece_bytes_, outer_unit() * inner * value_bytes_));
}

void LineUpload::prepare(int64_t max_lines) {
  raw_.reserve(static_cast<size_t>(bytes(max_lines)), "a piece of a factor");
}

void LineUpload::pack(int64_t first, const PackedLines& to, bool wide, const Stream& stream) {
  const int64_t inner = along_lines() ? lines_.depth : to.count;
  const int64_t outer = along_lines() ? to.count : lines_.depth;
  const int64_t outer_stride = along_lines() ? lines_.stride : lines_.step;
  const int64_t inner_stride = along_lines() ? lines_.step : lines_.stride;
  const int64_t together = piece_outer(inner);
  for (int64_t o = 0; o < std::max<int64_t>(outer, 1); o += together) {
    check_abort(pool_.abort());
    const int64_t some = std::min(together, outer - o);
    PackTask task = {raw_.data(), lines_.type,  inner, 1, static_cast<int32_t>(o), static_cast<int32_t>(some),
                     0,           lines_.depth, to};
    if (!along_lines()) {
      task.stride = 1;
      task.step = inner;
      task.first_line = 0;
      task.lines = to.count;
      task.first_value = o;
      task.values = some;
    }
    if (some > 0 && inner > 0) {
      const auto* from = static_cast<const std::byte*>(lines_.data);
      from += (first * lines_.stride + o * outer_stride) * value_bytes_;
      send({from, outer_stride, inner_stride, some, inner}, stream);
    }
    pack_lines({&task, 1}, wide, stream);
  }
}

void LineUpload::send(const Piece& piece, const Stream& stream) {
  const auto bytes = static_cast<size_t>(piece.outer * piece.inner * value_bytes_);
  const bool dense = piece.inner_stride == 1 && (piece.outer_stride == piece.inner || piece.outer == 1);
  if (!dense) gather(piece);
  staging_.send(address_of(raw_.data()), dense ? piece.from : gathered_.data(), bytes, stream, "uploading a factor");
}

void LineUpload::gather(const Piece& piece) {
  const auto bytes = static_cast<size_t>(piece.outer * piece.inner * value_bytes_);
  if (gathered_.size() < bytes) gathered_ = AlignedBuffer<std::byte>(bytes);
  const int64_t row_bytes = piece.inner * value_bytes_;
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 18) / std::max<int64_t>(1, row_bytes));
  pool_.for_each_range(piece.outer, grain, [&](int, int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o) {
      const std::byte* from = piece.from + o * piece.outer_stride * value_bytes_;
      std::byte* to = gathered_.data() + o * row_bytes;
      if (piece.inner_stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(row_bytes));
      } else if (value_bytes_ == 8) {
        copy_values<uint64_t>(from, piece.inner_stride, piece.inner, to);
      } else if (value_bytes_ == 4) {
        copy_values<uint32_t>(from, piece.inner_stride, piece.inner, to);
      } else if (value_bytes_ == 2) {
        copy_values<uint16_t>(from, piece.inner_stride, piece.inner, to);
      } else {
        copy_values<uint8_t>(from, piece.inner_stride, piece.inner, to);
      }
    }
  });
}

}  // namespace manymeans::cuda
