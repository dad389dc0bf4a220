// Models whose candidates are on the device at the same time.
#pragma once

#include "backend/cuda/queries/seed_tasks.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace manymeans::cuda {

inline int64_t tiles_of(int64_t candidates) {
  return (candidates + kSeedTileColumns - 1) / kSeedTileColumns;
}

/// Calls use() for one group after the other. Each is as large as `max_tiles` allows and has at least one element.
template <class Each, class Candidates, class Use>
void for_each_group(std::span<Each> all, int64_t max_tiles, Candidates&& candidates, Use&& use) {
  while (!all.empty()) {
    size_t count = 1;
    int64_t tiles = tiles_of(candidates(all[0]));
    for (; count < all.size(); ++count) {
      tiles += tiles_of(candidates(all[count]));
      if (tiles > max_tiles) break;
    }
    use(all.first(count));
    all = all.subspan(count);
  }
}

}  // namespace manymeans::cuda
