// Makes the system refuse memory or threads, for this whole program.
#pragma once

#include <cstdint>

namespace manymeans::test {

/// Which allocations fail from now on.
struct MemoryFaults {
  int64_t first = 0;  ///< the how manieth from now on, from 1; 0: none
  bool all = false;   ///< and all later ones
};
void arm(MemoryFaults faults);
/// No failures from now on. Returns how many allocations were refused.
int64_t disarm();

/// Allocations that were not freed yet.
int64_t live_allocations();

/// Only so many threads can be created from now on.
void allow_threads(int64_t count);

}  // namespace manymeans::test
