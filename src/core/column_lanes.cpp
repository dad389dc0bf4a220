// Compiled once for AVX-512, AVX2 and whatever the compiler targets anyway, like philox_lanes.cpp.
#include "core/column_lanes.h"

#include "core/processor.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#ifndef HWY_DISABLED_TARGETS  // src/CMakeLists.txt, for Arm
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/column_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace manymeans {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The value of the lowest set bit of each magnitude, infinity for 0: v minus v with that bit cleared, which is exact.
template <class D, class V>
HWY_INLINE V lowest_bits(D tag, V magnitude) {
  using T = hn::TFromD<D>;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const hn::RebindToUnsigned<D> bits_tag;
  const auto bits = hn::BitCast(bits_tag, magnitude);
  const auto mantissa = hn::Set(bits_tag, (Bits{1} << (std::numeric_limits<T>::digits - 1)) - 1);
  const auto cleared = hn::And(bits, hn::Sub(bits, hn::Set(bits_tag, Bits{1})));
  // Without a mantissa the value is a power of two, or zero.
  const auto power = hn::RebindMask(tag, hn::Eq(hn::And(bits, mantissa), hn::Zero(bits_tag)));
  const V low = hn::IfThenElse(power, magnitude, hn::Sub(magnitude, hn::BitCast(tag, cleared)));
  const V infinity = hn::Set(tag, std::numeric_limits<T>::infinity());
  return hn::IfThenElse(hn::Eq(magnitude, hn::Zero(tag)), infinity, low);
}

// Scans the first columns, one per lane.
template <class D, class T>
HWY_INLINE bool scan_lanes(D tag, const T* x, int64_t rows, int64_t width, const ColumnExtremes<T>& seen) {
  auto minimum = hn::LoadU(tag, seen.minimum);
  auto maximum = hn::LoadU(tag, seen.maximum);
  auto low = hn::LoadU(tag, seen.low);
  auto poison = hn::Zero(tag);  // becomes NaN at the first infinity or NaN
  for (int64_t i = 0; i < rows; ++i, x += width) {
    const auto value = hn::LoadU(tag, x);
    minimum = hn::Min(minimum, value);
    maximum = hn::Max(maximum, value);
    low = hn::Min(low, lowest_bits(tag, hn::Abs(value)));
    poison = hn::Add(poison, hn::Mul(value, hn::Zero(tag)));
  }
  hn::StoreU(minimum, tag, seen.minimum);
  hn::StoreU(maximum, tag, seen.maximum);
  hn::StoreU(low, tag, seen.low);
  return hn::AllTrue(tag, hn::Eq(poison, hn::Zero(tag)));
}

template <class T>
bool scan(const T* x, int64_t rows, int64_t width, const ColumnExtremes<T>& seen) {
  const hn::CappedTag<T, 8> many;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(many));
  bool finite = true;
  int64_t j = 0;
  const auto at = [&] { return ColumnExtremes<T>{seen.minimum + j, seen.maximum + j, seen.low + j}; };
  for (; j + lanes <= width; j += lanes) finite = scan_lanes(many, x + j, rows, width, at()) && finite;
  for (; j < width; ++j) finite = scan_lanes(one, x + j, rows, width, at()) && finite;
  return finite;
}

bool scan_floats(const float* x, int64_t rows, int64_t width, const ColumnExtremes<float>& seen) {
  return scan(x, rows, width, seen);
}
bool scan_doubles(const double* x, int64_t rows, int64_t width, const ColumnExtremes<double>& seen) {
  return scan(x, rows, width, seen);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D tag, const double* x) {
  return hn::LoadU(tag, x);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D tag, const float* x) {
  return hn::PromoteTo(tag, hn::LoadU(hn::Rebind<float, D>(), x));
}

// Adds the limbs of `scaled`: its integer part, and so on with what remains.
template <class D, class V>
HWY_INLINE void add_limbs(V scaled, V radix, V (&sums)[3]) {
  const V second = hn::Trunc(scaled);
  sums[0] = hn::Add(sums[0], second);
  scaled = hn::Mul(hn::Sub(scaled, second), radix);
  const V first = hn::Trunc(scaled);
  sums[1] = hn::Add(sums[1], first);
  sums[2] = hn::Add(sums[2], hn::Round(hn::Mul(hn::Sub(scaled, first), radix)));
}

// Adds up the first columns, one per lane.
template <class D, class T>
HWY_INLINE void sum_lanes(D tag, const T* x, int64_t rows, int64_t width, const MomentColumns& columns) {
  using V = hn::Vec<D>;
  static_assert(kDistanceLimbs == 3);
  const V centre = hn::LoadU(tag, columns.centre);
  const V top_y = hn::LoadU(tag, columns.top_y);
  const V top_yy = hn::LoadU(tag, columns.top_yy);
  const V radix = hn::Set(tag, columns.radix);
  double* const at = columns.sums;
  const int64_t stride = columns.stride;
  V y_sums[3] = {hn::LoadU(tag, at), hn::LoadU(tag, at + stride), hn::LoadU(tag, at + 2 * stride)};
  V yy_sums[3] = {hn::LoadU(tag, at + 3 * stride), hn::LoadU(tag, at + 4 * stride), hn::LoadU(tag, at + 5 * stride)};
  for (int64_t i = 0; i < rows; ++i) {
    const V y = hn::Sub(load(tag, x + i * width), centre);
    add_limbs<D>(hn::Mul(y, top_y), radix, y_sums);
    add_limbs<D>(hn::Mul(hn::Mul(y, y), top_yy), radix, yy_sums);
  }
  for (int64_t g = 0; g < 3; ++g) {
    hn::StoreU(y_sums[g], tag, at + g * stride);
    hn::StoreU(yy_sums[g], tag, at + (3 + g) * stride);
  }
}

template <class T>
void sum(const T* x, int64_t rows, int64_t width, const MomentColumns& columns) {
  const hn::CappedTag<double, 8> many;
  const hn::CappedTag<double, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(many));
  int64_t j = 0;
  const auto from = [&] {
    return MomentColumns{columns.centre + j, columns.top_y + j, columns.top_yy + j,
                         columns.radix,      columns.sums + j,  columns.stride};
  };
  for (; j + lanes <= width; j += lanes) sum_lanes(many, x + j, rows, width, from());
  for (; j < width; ++j) sum_lanes(one, x + j, rows, width, from());
}

void sum_floats(const float* x, int64_t rows, int64_t width, const MomentColumns& columns) {
  sum(x, rows, width, columns);
}
void sum_doubles(const double* x, int64_t rows, int64_t width, const MomentColumns& columns) {
  sum(x, rows, width, columns);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace manymeans
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace manymeans {
namespace {

std::vector<ColumnLanes> usable_lanes() {
  std::vector<ColumnLanes> usable;
#if HWY_TARGETS & HWY_AVX3
  if (has_avx512()) {
    usable.push_back({"avx512", N_AVX3::scan_floats, N_AVX3::scan_doubles, N_AVX3::sum_floats, N_AVX3::sum_doubles});
  }
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has_avx2()) {
    usable.push_back({"avx2", N_AVX2::scan_floats, N_AVX2::scan_doubles, N_AVX2::sum_floats, N_AVX2::sum_doubles});
  }
#endif
  usable.push_back({"baseline", HWY_STATIC_DISPATCH(scan_floats), HWY_STATIC_DISPATCH(scan_doubles),
                    HWY_STATIC_DISPATCH(sum_floats), HWY_STATIC_DISPATCH(sum_doubles)});
  return usable;
}

int top_exponent(const SumFormat& format) {
  return format.shift - (format.limbs - 1) * format.bits;
}

// Returns whether the powers of two that multiply terms are normal numbers.
bool has_normal_top(const MomentFormats& formats) {
  return std::abs(top_exponent(formats.y)) < 1022 && std::abs(top_exponent(formats.yy)) < 1022;
}

}  // namespace

std::span<const ColumnLanes> column_lanes() {
  static const auto& kUsable = *new std::vector<ColumnLanes>(usable_lanes());  // never destroyed
  return kUsable;
}

template <class T>
ColumnScanner<T>::ColumnScanner(int64_t d, const ColumnLanes& lanes)
    : d_(d), together_(together_for_lanes(d)), lanes_(lanes) {
  const auto width = static_cast<size_t>(d * together_);
  minimum_.assign(width, std::numeric_limits<T>::infinity());
  maximum_.assign(width, -std::numeric_limits<T>::infinity());
  low_.assign(width, std::numeric_limits<T>::infinity());
}

template <class T>
bool ColumnScanner<T>::scan(const T* x, int64_t rows, int64_t width) {
  const ColumnExtremes<T> seen{minimum_.data(), maximum_.data(), low_.data()};
  if constexpr (std::is_same_v<T, float>) return lanes_.scan_floats(x, rows, width, seen);
  if constexpr (std::is_same_v<T, double>) return lanes_.scan_doubles(x, rows, width, seen);
}

template <class T>
bool ColumnScanner<T>::add(const T* x, int64_t rows) {
  const int64_t rest = rows % together_;
  const bool finite = scan(x, rows / together_, d_ * together_);
  return scan(x + (rows - rest) * d_, rest, d_) && finite;
}

template <class T>
void ColumnScanner<T>::merge_into(ColumnScan& scan) const {
  for (size_t at = 0; at < low_.size(); ++at) {
    scan.take(at % static_cast<size_t>(d_), minimum_[at], maximum_[at], 0, low_[at]);
  }
}

template <class T>
MomentSummer<T>::MomentSummer(std::span<const MomentFormats> formats, const ColumnLanes& lanes)
    : d_(static_cast<int64_t>(formats.size())),
      together_(together_for_lanes(d_)),
      lanes_(lanes),
      adders_(formats.begin(), formats.end()),
      sums_(formats.size()) {
  constexpr int kMinSpareBits = 2;  // of a double that holds a limb
  const int spare = std::numeric_limits<double>::digits - formats[0].y.bits;
  if (spare < kMinSpareBits || !std::all_of(formats.begin(), formats.end(), has_normal_top)) return;
  most_ = int64_t{1} << spare;
  radix_ = std::ldexp(1.0, formats[0].y.bits);
  for (int64_t row = 0; row < together_; ++row) {
    for (const MomentFormats& column : formats) {
      centre_.push_back(column.centre);
      top_y_.push_back(std::ldexp(1.0, top_exponent(column.y)));
      top_yy_.push_back(std::ldexp(1.0, top_exponent(column.yy)));
    }
  }
  parts_.assign(2 * kDistanceLimbs * centre_.size(), 0);
}

template <class T>
void MomentSummer<T>::add_one_by_one(const T* x, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i, x += d_) {
    for (size_t j = 0; j < sums_.size(); ++j) adders_[j].add(x[j], sums_[j]);
  }
}

// The limbs' sums as integers: exact, since they are below 2^53.
template <class T>
void MomentSummer<T>::carry() {
  const size_t width = centre_.size();
  for (size_t at = 0; at < parts_.size(); ++at) {
    MomentSums& sums = sums_[at % width % sums_.size()];
    const size_t part = at / width;
    int64_t* const limbs = part < kDistanceLimbs ? sums.y : sums.yy;
    limbs[kDistanceLimbs - 1 - part % kDistanceLimbs] += static_cast<int64_t>(parts_[at]);
  }
  std::fill(parts_.begin(), parts_.end(), 0);
  added_ = 0;
}

template <class T>
void MomentSummer<T>::add_rows(const T* x, int64_t rows, int64_t width) {
  while (rows > 0) {
    if (added_ == most_) carry();
    const int64_t some = std::min(rows, most_ - added_);
    const MomentColumns columns{centre_.data(), top_y_.data(), top_yy_.data(),
                                radix_,         parts_.data(), static_cast<int64_t>(centre_.size())};
    if constexpr (std::is_same_v<T, float>) lanes_.sum_floats(x, some, width, columns);
    if constexpr (std::is_same_v<T, double>) lanes_.sum_doubles(x, some, width, columns);
    added_ += some;
    rows -= some;
    x += some * width;
  }
}

template <class T>
void MomentSummer<T>::add(const T* x, int64_t rows) {
  if (most_ == 0) return add_one_by_one(x, rows);
  const int64_t rest = rows % together_;
  add_rows(x, rows / together_, d_ * together_);
  add_rows(x + (rows - rest) * d_, rest, d_);
}

template <class T>
const std::vector<MomentSums>& MomentSummer<T>::sums() {
  if (most_ != 0) carry();
  return sums_;
}

template class ColumnScanner<float>;
template class ColumnScanner<double>;
template class MomentSummer<float>;
template class MomentSummer<double>;

}  // namespace manymeans
#endif
