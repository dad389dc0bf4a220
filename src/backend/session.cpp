#include "backend/session.h"

#include "core/memory_space.h"

#include <algorithm>
#include <cstring>

namespace manymeans {

void copy_labels(const Labels& from, Labels& to, int64_t first) {
  if (from.width() == to.width()) {
    std::memcpy(to.bytes().data() + first * to.width(), from.bytes().data(), from.bytes().size());
    return;
  }
  constexpr int64_t kBlock = 4096;
  uint32_t block[kBlock];
  for (int64_t done = 0; done < from.size(); done += kBlock) {
    const int64_t some = std::min(kBlock, from.size() - done);
    from.read(done, some, block);
    to.write(first + done, some, block);
  }
}

void renumber_labels(const Labels& from, int64_t first, int64_t last, std::span<const uint32_t> new_label, Labels& to) {
  constexpr int64_t kBlock = 4096;
  uint32_t block[kBlock];
  for (int64_t row = first; row < last; row += kBlock) {
    const int64_t some = std::min(kBlock, last - row);
    from.read(row, some, block);
    for (int64_t i = 0; i < some; ++i) block[i] = new_label[block[i]];
    to.write(row, some, block);
  }
}

void Session::store_labels(int slot, const ResultRoom& room) {
  manymeans::store_labels(room, take_labels(slot));
}

bool Session::write_labels(std::span<const int> slots, std::span<Labels* const> to, int64_t first) {
  for (size_t i = 0; i < slots.size(); ++i) {
    const Labels& mine = labels(slots[i]);
    if (mine.empty()) return false;
    copy_labels(mine, *to[i], first);
  }
  return true;
}

}  // namespace manymeans
