// Compiled once for AVX-512, AVX2 and whatever the compiler targets anyway, like philox_lanes.cpp. Products and sums
// are rounded one by one, so that all of them give the same bits.
#include "core/centre_lanes.h"

#include "core/processor.h"

#include <limits>
#include <vector>

#ifndef HWY_DISABLED_TARGETS  // src/CMakeLists.txt, for Arm
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/centre_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace manymeans {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<double, 8>;
using V = hn::Vec<Tag>;

// Squared distances of the rows of two vectors to one centre.
HWY_INLINE void distances_of_pair(const double* x, int64_t d, const double* centre, V& first, V& second) {
  const Tag tag;
  const size_t lanes = hn::Lanes(tag);
  first = second = hn::Zero(tag);
  for (int64_t j = 0; j < d; ++j, x += kCentreRows) {
    const V c = hn::Set(tag, centre[j]);
    const V a = hn::Sub(hn::LoadU(tag, x), c);
    const V b = hn::Sub(hn::LoadU(tag, x + lanes), c);
    first = hn::Add(first, hn::Mul(a, a));
    second = hn::Add(second, hn::Mul(b, b));
  }
}

struct NearestOfLanes {
  V least, second, nearest, second_nearest;

  HWY_INLINE void clear() {
    const Tag tag;
    least = second = hn::Set(tag, std::numeric_limits<double>::infinity());
    nearest = second_nearest = hn::Zero(tag);
  }
  HWY_INLINE void look_at(V distance, V centre) {
    const auto nearer = hn::Lt(distance, least);
    const auto follows = hn::Lt(distance, second);
    second_nearest = hn::IfThenElse(nearer, nearest, hn::IfThenElse(follows, centre, second_nearest));
    second = hn::IfThenElse(nearer, least, hn::IfThenElse(follows, distance, second));
    nearest = hn::IfThenElse(nearer, centre, nearest);
    least = hn::IfThenElse(nearer, distance, least);
  }
  HWY_INLINE void store(TwoCentres& found, size_t at) const {
    const Tag tag;
    hn::StoreU(least, tag, found.least + at);
    hn::StoreU(second, tag, found.second + at);
    hn::StoreU(nearest, tag, found.nearest + at);
    hn::StoreU(second_nearest, tag, found.second_nearest + at);
  }
};

void two_nearest(const double* x, int64_t d, const double* centres, int64_t k, TwoCentres* found) {
  const Tag tag;
  const size_t lanes = hn::Lanes(tag);
  for (size_t at = 0; at < kCentreRows; at += 2 * lanes) {
    NearestOfLanes first, second;
    first.clear();
    second.clear();
    for (int64_t c = 0; c < k; ++c) {
      V a, b;
      distances_of_pair(x + at, d, centres + c * d, a, b);
      const V number = hn::Set(tag, static_cast<double>(c));
      first.look_at(a, number);
      second.look_at(b, number);
    }
    first.store(*found, at);
    second.store(*found, at + lanes);
  }
}

uint64_t below(const double* x, int64_t d, const double* point, const double* limits, double* distances) {
  const Tag tag;
  const size_t lanes = hn::Lanes(tag);
  uint64_t bits = 0;
  for (size_t at = 0; at < kCentreRows; at += 2 * lanes) {
    V a, b;
    distances_of_pair(x + at, d, point, a, b);
    hn::StoreU(a, tag, distances + at);
    hn::StoreU(b, tag, distances + at + lanes);
    uint8_t low = 0, high = 0;  // at most eight lanes
    hn::StoreMaskBits(tag, hn::Lt(a, hn::LoadU(tag, limits + at)), &low);
    hn::StoreMaskBits(tag, hn::Lt(b, hn::LoadU(tag, limits + at + lanes)), &high);
    bits |= (uint64_t{low} | uint64_t{high} << lanes) << at;
  }
  return bits;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace manymeans
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace manymeans {
namespace {

std::vector<CentreLanes> usable_lanes() {
  std::vector<CentreLanes> usable;
#if HWY_TARGETS & HWY_AVX3
  if (has_avx512()) usable.push_back({"avx512", N_AVX3::two_nearest, N_AVX3::below});
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has_avx2()) usable.push_back({"avx2", N_AVX2::two_nearest, N_AVX2::below});
#endif
  usable.push_back({"baseline", HWY_STATIC_DISPATCH(two_nearest), HWY_STATIC_DISPATCH(below)});
  return usable;
}

}  // namespace

std::span<const CentreLanes> centre_lanes() {
  static const auto& kUsable = *new std::vector<CentreLanes>(usable_lanes());  // never destroyed
  return kUsable;
}

}  // namespace manymeans
#endif
