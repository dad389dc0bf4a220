// This is memory that calls take and give back again and again. Where a system hands out pages one by one, and clears
// each, that can take a quarter of a small product's time: up to two microseconds a page on a virtual machine.
#pragma once

#include "core/aligned_buffer.h"

#include <cstddef>

namespace manymeans {

/// Larger ones are not kept: what they hold takes longer than their pages. Two are kept in a process.
constexpr size_t kMaxSpareBytes = size_t{16} << 20;

/// At least `count` values of any content: what was kept where that is as large, else new memory. No call waits for
/// another one.
AlignedBuffer<double> take_memory(size_t count);

/// Keeps the buffer for whoever takes memory next, in the place of the smallest one that is kept where that is smaller;
/// frees what is not kept.
void keep_memory(AlignedBuffer<double> buffer);

}  // namespace manymeans
