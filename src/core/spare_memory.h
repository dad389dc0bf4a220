// Memory that calls take and give back again and again. A system that hands out pages one by one, and clears each,
// takes a third of a small product's time for it; on virtual machines it is two microseconds a page.
#pragma once

#include "core/aligned_buffer.h"

#include <cstddef>

namespace manymeans {

/// Larger ones are not kept: what they hold takes longer than their pages. Two are kept in a process.
constexpr size_t kMostSpareBytes = size_t{16} << 20;

/// At least `count` values of any content: what was kept where that is as large, else new memory. No call waits for
/// another one.
AlignedBuffer<double> take_memory(size_t count);

/// Keeps the buffer for whoever takes memory next, in the place of a smaller one where there is none left; frees what
/// is not kept.
void keep_memory(AlignedBuffer<double> buffer);

}  // namespace manymeans
