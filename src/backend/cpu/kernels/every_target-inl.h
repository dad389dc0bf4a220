// Operations that Highway defines differently on some targets. Include this file from *-inl.h only.
#pragma once

#include <hwy/highway.h>

namespace manymeans {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_ARM

// NEON has no masked loads and stores. Highway's read and write whole vectors there, so they may leave an array.
// Nor does every version of it return the second operand where the first is NaN.
template <class D, class Use>
HWY_INLINE void for_each_lane(hn::Mask<D> mask, D tag, Use&& use) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  for (unsigned rest = bytes[0]; rest != 0; rest &= rest - 1) use(__builtin_ctz(rest));
}

template <class D, class T = hn::TFromD<D> >
HWY_INLINE hn::Vec<D> masked_load(hn::Mask<D> mask, D tag, const T* from) {
  alignas(16) T lanes[hn::MaxLanes(D())] = {};
  for_each_lane(mask, tag, [&](int lane) { lanes[lane] = from[lane]; });
  return hn::Load(tag, lanes);
}

template <class D, class T = hn::TFromD<D> >
HWY_INLINE void masked_store(hn::Vec<D> value, hn::Mask<D> mask, D tag, T* to) {
  alignas(16) T lanes[hn::MaxLanes(D())];
  hn::Store(value, tag, lanes);
  for_each_lane(mask, tag, [&](int lane) { to[lane] = lanes[lane]; });
}

template <class V>
HWY_INLINE V min_or_second(V first, V second) {
  return hn::IfThenElse(hn::Lt(first, second), first, second);
}

template <class V>
HWY_INLINE V max_or_second(V first, V second) {
  return hn::IfThenElse(hn::Gt(first, second), first, second);
}

#else

template <class D, class T = hn::TFromD<D> >
HWY_INLINE hn::Vec<D> masked_load(hn::Mask<D> mask, D tag, const T* from) {
  return hn::MaskedLoad(mask, tag, from);
}

template <class D, class T = hn::TFromD<D> >
HWY_INLINE void masked_store(hn::Vec<D> value, hn::Mask<D> mask, D tag, T* to) {
  hn::BlendedStore(value, mask, tag, to);
}

template <class V>
HWY_INLINE V min_or_second(V first, V second) {
  return hn::Min(first, second);
}

template <class V>
HWY_INLINE V max_or_second(V first, V second) {
  return hn::Max(first, second);
}

#endif

}  // namespace
}  // namespace manymeans
