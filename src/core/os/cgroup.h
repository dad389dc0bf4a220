// The limits of this process's control groups, version 2 and version 1. Systems without them set none.
#pragma once

#include <cstdint>

namespace manymeans {

/// Returns the processors that the tightest CPU quota allows, or HUGE_VAL without a quota.
double cgroup_processors();

/// Returns the bytes that this process may still take, or the largest number without a limit.
int64_t cgroup_memory();

/// Returns what a group of this limit has left, if `files` of its `used` bytes can be dropped. The three are counted at
/// different times, so `files` may exceed `used`. No limit is a number close to the largest.
int64_t left_of_limit(int64_t limit, int64_t used, int64_t files);

}  // namespace manymeans
