// Small device functions that the kernels of a pass share.
#pragma once

#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/pass_ranges.h"

#include <cstdint>

namespace manymeans::cuda {

__device__ inline void store_label(const LabelRows& labels, int32_t slot, int64_t row, uint32_t label) {
  const int64_t at = slot * labels.stride + row;
  switch (labels.width) {
    case 1: static_cast<uint8_t*>(labels.base)[at] = static_cast<uint8_t>(label); break;
    case 2: static_cast<uint16_t*>(labels.base)[at] = static_cast<uint16_t>(label); break;
    default: static_cast<uint32_t*>(labels.base)[at] = label; break;
  }
}

__device__ inline uint32_t load_label(const LabelRows& labels, int32_t slot, int64_t row) {
  const int64_t at = slot * labels.stride + row;
  switch (labels.width) {
    case 1: return static_cast<const uint8_t*>(labels.base)[at];
    case 2: return static_cast<const uint16_t*>(labels.base)[at];
    default: return static_cast<const uint32_t*>(labels.base)[at];
  }
}

// *high:*low += value mod 2^128. Additions in any order give the same sum.
__device__ inline void atomic_add_128(unsigned long long* low, unsigned long long* high, unsigned long long value_low,
                                      unsigned long long value_high) {
  const unsigned long long before = atomicAdd(low, value_low);
  const unsigned long long carry = before + value_low < before ? 1 : 0;
  if (value_high + carry != 0) atomicAdd(high, value_high + carry);
}

/// Returns true if the batch has stopped: then a kernel has nothing to do.
__device__ inline bool stopped(const PassRanges& ranges) {
  return *reinterpret_cast<const volatile uint32_t*>(&ranges.control->stopped) != 0;
}

/// Returns true if this is the model's first pass of all.
__device__ inline bool in_first_pass(const PassRanges& ranges, const PassRange& range) {
  return range.first_pass != 0 && ranges.control->passes == 0;
}

/// Returns true if a pass has changed so few labels that the engine must judge.
__device__ inline bool changed_few(const PassCounters& counters, const PassControl& control, bool first_pass) {
  return counters.changed <= static_cast<unsigned long long>(control.changed) && !first_pass;
}

/// Returns true if an update of k prototypes may be the last one of its model, by the rule of the host.
__device__ inline bool may_be_last(const ShiftLimits& limits, const PassCounters& counters, int64_t k) {
  if (limits.sum >= 0 && counters.shift_units <= device::kShiftUnits) return true;
  return limits.each >= 0 && __ull2double_rn(counters.still) >= __dmul_rn(limits.share, __ll2double_rn(k));
}

/// Counts a prototype's squared shift, where the limits ask. Rounded down, so that units beyond the limit's prove that
/// the sum is; what is not a number adds nothing. Integers, so that devices that share rows find the same.
__device__ inline void count_shift(const ShiftLimits& limits, double d2, PassCounters& counters) {
  if (limits.sum >= 0) {
    constexpr double kUnits = static_cast<double>(device::kShiftUnits);
    const double units = __dmul_rn(d2, __ddiv_rn(kUnits * (1 - 0x1p-40), limits.sum));
    if (units > 0) atomicAdd(&counters.shift_units, __double2ull_rd(fmin(units, 2 * kUnits)));
  }
  if (d2 <= limits.each) atomicAdd(&counters.still, 1ULL);
}

/// The sum over the warp, in every lane.
template <class T>
__device__ inline T warp_sum(T v) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(~0U, v, step);
  return v;
}

/// Takes rows out of a word of marks, number `at` of its range's, as long as there is room for more: store(place, row).
/// Returns true if rows are left. `count` also counts rows beyond the room.
template <class Store>
__device__ inline bool take_marked(uint32_t& word, int64_t at, uint32_t* count, int64_t capacity, const Store& store) {
  uint32_t marks = word;
  if (marks == 0) return false;
  int64_t place = atomicAdd(count, static_cast<uint32_t>(__popc(static_cast<int>(marks))));
  for (; marks != 0 && place < capacity; marks &= marks - 1) {
    store(place++, at * 32 + __ffs(static_cast<int>(marks)) - 1);
  }
  word = marks;
  return marks != 0;
}

/// The sum of `v` over the threads of the warp up to this one.
__device__ inline uint32_t warp_inclusive_sum(uint32_t v) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_up_sync(~0U, v, step);
    if (lane >= step) v += other;
  }
  return v;
}

__device__ inline double prototype_value(const PassRange& range, bool float64, int64_t at) {
  return float64 ? static_cast<const double*>(range.prototypes)[at]
                 : static_cast<double>(static_cast<const float*>(range.prototypes)[at]);
}

}  // namespace manymeans::cuda
