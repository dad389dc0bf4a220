// How much memory there is.
#pragma once

#include <cstdint>

namespace manymeans {

/// Bytes that this process may still take: what the system says is available, cut by the cgroup's limit (v1 or v2).
int64_t available_memory();

/// Returns what a group of this limit has left, if `files` of its `used` bytes can be dropped. The three are counted at
/// different times, so `files` may exceed `used`. No limit is a number close to the largest.
int64_t left_of_limit(int64_t limit, int64_t used, int64_t files);

/// Returns whether `bytes` is at most half of available_memory(). A few bytes always are, without a query to the
/// system: a query takes longer than reading a small file.
bool fits_in_half(int64_t bytes);

}  // namespace manymeans
