// How much memory there is.
#pragma once

#include <cstdint>

namespace manymeans {

/// Bytes that this process may still take: what the system says is available, cut by the cgroup's limit (v1 or v2).
int64_t available_memory();

/// Whether so many bytes are at most half of that. A few always are, without asking the system: that takes longer than
/// reading a small file does.
bool fits_in_half(int64_t bytes);

}  // namespace manymeans
