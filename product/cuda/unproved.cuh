// Lists entries that a screen did not prove.
#pragma once

#include "product/cuda/packed_product.h"

#include <cstdint>

namespace manymeans::cuda {

/// Puts entries into the list, or marks their cells where it is full. Entry e of this thread is (row(e), column(e)),
/// and bit e of `failed` says that it was not proved.
template <class Row, class Column>
__device__ __forceinline__ void leave_unproved(const Unproved& to, uint64_t failed, const Row& row,
                                               const Column& column) {
  if (failed == 0) return;
  const auto count = static_cast<unsigned long long>(__popcll(static_cast<long long>(failed)));
  unsigned long long place = atomicAdd(to.counted, count);
  for (; failed != 0; failed &= failed - 1, ++place) {
    const int e = __ffsll(static_cast<long long>(failed)) - 1;
    const int i = row(e), j = column(e);
    if (place < to.capacity) {
      to.list[place] = make_uint2(static_cast<unsigned>(i), static_cast<unsigned>(j));
    } else {
      to.cells[int64_t{i / kCellEntries} * to.cells_across + j / kCellEntries] = 1;
    }
  }
}

}  // namespace manymeans::cuda
