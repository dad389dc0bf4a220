// How many blocks of threads a kernel with a grid-stride loop is started with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {

/// Enough blocks of `threads` for `work` items of a thread each, but no more than the largest devices hold at once
/// several times over: grid-stride loops do the rest.
inline int grid_for(int64_t work, int threads) {
  constexpr int64_t kMaxBlocks = 132 * 16;
  return static_cast<int>(std::clamp<int64_t>((work + threads - 1) / threads, 1, kMaxBlocks));
}

}  // namespace manymeans::cuda
