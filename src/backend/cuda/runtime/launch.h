// How many blocks of threads a kernel with a grid-stride loop is started with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {

/// Returns enough blocks of `threads` for `work` items of a thread each. The max is several times what the largest
/// devices hold at once; grid-stride loops do the rest.
inline int grid_for(int64_t work, int threads) {
  constexpr int64_t kMaxBlocks = 132 * 16;
  return static_cast<int>(std::clamp<int64_t>((work + threads - 1) / threads, 1, kMaxBlocks));
}

}  // namespace manymeans::cuda
