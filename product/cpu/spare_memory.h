// This is memory that calls take and free again and again. Some systems hand out pages one by one and clear each: up to
// two microseconds a page on a virtual machine. This can take a quarter of a small product's time.
#pragma once

#include "core/aligned_buffer.h"

#include <cstddef>

namespace manymeans {

/// Larger ones are not kept: what they hold takes longer than their pages. Two are kept in a process.
constexpr size_t kMaxSpareBytes = size_t{16} << 20;

/// At least `count` values of any content: what was kept where that is as large, else new memory. No call waits for
/// another one.
AlignedBuffer<double> take_memory(size_t count);

/// Keeps the buffer for the next caller, instead of the smallest kept buffer if that is smaller. Frees what is not
/// kept.
void keep_memory(AlignedBuffer<double> buffer);

}  // namespace manymeans
