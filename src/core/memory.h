// How much memory there is.
#pragma once

#include <cstdint>

namespace manymeans {

/// Bytes that this process may still take: what the system says is available, cut by the cgroup's limit (v1 or v2).
int64_t available_memory();

}  // namespace manymeans
