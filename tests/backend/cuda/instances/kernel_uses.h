// Every kernel that this program has, as the CUDA runtime is told of them before main(), and how often each was
// started. A kernel that is compiled into the library is in the list by itself.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace manymeans::test {

struct KernelUse {
  const void* function;  ///< what a launch names it by
  std::string name;      ///< with its template's arguments
  std::atomic<int64_t> launches = 0;
  std::atomic<int64_t> max_rows = 0;  ///< of a case that launched it
};

/// The library's own, in no order; addresses stay.
std::deque<KernelUse>& kernel_uses();
/// Of a function that a launch names; null: not one of the library's.
KernelUse* kernel_use(const void* function);

/// What runs from now on has so many rows.
void begin_rows(int64_t rows);

/// Whether an event stands behind each launch from now on, so that unfinished_kernel() is exact. It keeps a kernel from
/// coming before the one before it has ended.
void mark_launches(bool wanted);

/// The launches of the last pass or so, oldest first.
std::vector<std::string> last_launches();
/// With mark_launches(): the oldest kernel that has not ended; empty: none.
std::string unfinished_kernel();

}  // namespace manymeans::test
