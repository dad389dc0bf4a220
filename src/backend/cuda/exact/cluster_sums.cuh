// Where a block adds up clusters: in its shared memory, or in the statistics themselves.
#pragma once

#include <cstdint>

namespace manymeans::cuda {

/// The statistics themselves.
struct GlobalSums {
  using Index = int64_t;
  long long* sums;
  long long* weights;
  long long* counts;

  __device__ void add_to(long long* to, int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  }
  __device__ void add_sum(Index at, int64_t value) const { add_to(sums + at, value); }
  __device__ void add_weight(Index k, int64_t value) const { add_to(weights + k, value); }
  __device__ void add_count(Index k, int64_t value) const { add_to(counts + k, value); }
};

/// 64-bit sums in shared memory by two native 32-bit atomics: the low half's carry goes into the high. All low halves
/// come before all high ones, so that neighbouring threads use neighbouring banks.
struct SharedSums {
  using Index = int;
  uint32_t words;  // the address of the low halves: sums, weights, counts
  Index sums;      // how many
  Index k;

  __device__ __forceinline__ Index all() const { return sums + 2 * k; }

  // Returns the low half before the addition.
  __device__ __forceinline__ uint32_t add_low(Index at, int64_t value) const {
    uint32_t before = 0;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(words + 4 * static_cast<uint32_t>(at)), "r"(static_cast<uint32_t>(value))
                 : "memory");
    return before;
  }
  __device__ __forceinline__ void add_high(Index at, int64_t value, uint32_t low_before) const {
    const uint32_t carry = low_before + static_cast<uint32_t>(value) < low_before ? 1 : 0;
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(words + 4 * static_cast<uint32_t>(all() + at)),
                 "r"(static_cast<uint32_t>(value >> 32) + carry)
                 : "memory");
  }
  __device__ void add_to(Index at, int64_t value) const {
    if (value != 0) add_high(at, value, add_low(at, value));
  }
  __device__ void add_sum(Index at, int64_t value) const { add_to(at, value); }
  __device__ void add_weight(Index c, int64_t value) const { add_to(sums + c, value); }
  __device__ void add_count(Index c, int64_t value) const { add_to(sums + k + c, value); }
};

}  // namespace manymeans::cuda
