#include "io/files/text_pages.h"

#include "core/file_memory.h"

#include <algorithm>

namespace manymeans {
namespace {
constexpr size_t kPiece = size_t{1} << 20;
}

TextPages::TextPages(std::string_view text, int64_t memory)
    : text_(text),
      in_file_(storage_for(static_cast<int64_t>(text.size()), memory) == Storage::kFile &&
               lies_in_file(text.data(), text.size())) {
  if (in_file_) map_small_pages(text.data(), text.size());
}

// One byte of a neighbour can have mapped a huge page (a large folio, since Linux 6.18).
void TextPages::release(size_t first, size_t last) const {
  if (!in_file_) return;
  first -= std::min<size_t>(first, 1);
  last = std::min(text_.size(), last + 1);
  give_back(text_.data(), text_.size(), first, last - first);
}

void TextPages::release_to(size_t end) {
  if (end < released_ + kPiece && end < text_.size()) return;
  release(released_, end);
  released_ = end;
}

int64_t count_line_ends(std::string_view text, int64_t memory) {
  TextPages pages(text, memory);
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); at += kPiece) {
    const std::string_view piece = text.substr(at, kPiece);
    count += std::ranges::count(piece, '\n');
    pages.release_to(at + piece.size());
  }
  return count;
}

}  // namespace manymeans
