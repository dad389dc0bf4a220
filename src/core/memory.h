// How much memory there is.
#pragma once

#include <cstdint>

namespace manymeans {

/// Bytes that this process may still take: what the system says is available, cut by the cgroup's limit (v1 or v2).
int64_t available_memory();

/// What a group of this limit has left, where `files` of its `used` bytes can be dropped. The three are counted at
/// different times, so that there may be more files than is used; no limit is a number close to the largest.
int64_t left_of_limit(int64_t limit, int64_t used, int64_t files);

/// Whether so many bytes are at most half of that. A few always are, without asking the system: that takes longer than
/// reading a small file does.
bool fits_in_half(int64_t bytes);

}  // namespace manymeans
