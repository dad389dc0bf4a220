// How much memory there is.
#pragma once

#include <cstdint>

namespace manymeans {

/// Bytes that this process may still take: what the system says is available, cut by the cgroup's limit (v1 or v2).
int64_t available_memory();

/// Returns whether `bytes` is at most half of available_memory(). A few bytes always are, without a query to the
/// system: a query takes longer than reading a small file.
bool fits_in_half(int64_t bytes);

}  // namespace manymeans
