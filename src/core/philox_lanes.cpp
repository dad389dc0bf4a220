// Compiled once for AVX-512, AVX2 and whatever the compiler targets anyway; the processor's best one is called. Highway
// could choose, too, but from a library that this one does not need otherwise.
#include "core/philox_lanes.h"

#include "core/processor.h"

#include <algorithm>

#ifndef HWY_DISABLED_TARGETS  // src/CMakeLists.txt, for Arm
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/philox_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace manymeans {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void label_terms(const int64_t* rows, int64_t first, const uint32_t* labels, int64_t count, LabelSum* sum) {
  for (int64_t i = 0; i < count; ++i) *sum += label_term(first + (rows == nullptr ? i : rows[i]), labels[i]);
}

int64_t draws(const DrawTask& in, int64_t first, int64_t last, RowDraw* found) {
  int64_t count = 0;
  for (int64_t row = first; row < last; ++row) {
    const uint64_t u = random_u64(in.key, static_cast<uint64_t>(row), in.draw, in.purpose);
    if (u <= in.most) found[count++] = {u, row};
  }
  return count;
}

#else

using U64 = hn::ScalableTag<uint64_t>;
using VecU = hn::Vec<U64>;
constexpr U64 kU64;
constexpr int64_t kU = static_cast<int64_t>(hn::MaxLanes(kU64));

// The four words of a counter, each in the low half of 64-bit lanes. So the products of a round are whole lanes.
// Multiplications ignore the high halves, so their content harms nothing.
struct PhiloxWords {
  VecU word[4];
};

HWY_INLINE VecU times_word(VecU a, uint32_t factor) {
  const hn::Repartition<uint32_t, U64> u32;
  return hn::MulEven(hn::BitCast(u32, a), hn::Set(u32, factor));
}

HWY_INLINE PhiloxWords counter(VecU row, VecU draw, Purpose purpose) {
  return {{row, hn::ShiftRight<32>(row), draw, hn::Set(kU64, static_cast<uint64_t>(purpose))}};
}

// By a shuffle, since shifts and products use the same port of many processors.
HWY_INLINE VecU high_word(VecU a) {
  const hn::Repartition<uint32_t, U64> u32;
  return hn::BitCast(kU64, hn::DupOdd(hn::BitCast(u32, a)));
}

// Vectors at a time, as many as registers hold: a round waits for its products.
constexpr int kVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;
constexpr int64_t kAtOnce = kVectors * kU;

// Philox4x32-10.
HWY_INLINE void philox_rounds(uint64_t key, PhiloxWords (&c)[kVectors]) {
  auto key_low = static_cast<uint32_t>(key);
  auto key_high = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      VecU(&w)[4] = c[v].word;
      const VecU first = times_word(w[0], 0xD2511F53U);
      const VecU second = times_word(w[2], 0xCD9E8D57U);
      w[0] = hn::Xor(hn::Xor(high_word(second), w[1]), hn::Set(kU64, key_low));
      w[1] = second;
      w[2] = hn::Xor(hn::Xor(high_word(first), w[3]), hn::Set(kU64, key_high));
      w[3] = first;
    }
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
}

// Sums each of the four words on its own: lanes of 64 bits hold 2^32 words. The last rows are copied, since masked
// loads of some targets read whole vectors.
void label_terms(const int64_t* rows, int64_t first, const uint32_t* labels, int64_t count, LabelSum* sum) {
  const hn::Rebind<uint32_t, U64> narrow;
  const VecU low_half = hn::Set(kU64, 0xffffffffU);
  VecU sums[4] = {hn::Zero(kU64), hn::Zero(kU64), hn::Zero(kU64), hn::Zero(kU64)};
  uint64_t last_rows[kAtOnce] = {};
  uint32_t last_labels[kAtOnce] = {};
  for (int64_t i = 0; i < count; i += kAtOnce) {
    const int64_t some = std::min(count - i, kAtOnce);
    const auto* row = reinterpret_cast<const uint64_t*>(rows == nullptr ? nullptr : rows + i);
    const uint32_t* label = labels + i;
    if (some < kAtOnce) {
      if (rows != nullptr) std::copy_n(row, some, last_rows);
      std::copy_n(label, some, last_labels);
      row = last_rows;
      label = last_labels;
    }
    PhiloxWords c[kVectors];
    VecU valid[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v * kU;
      const auto lanes = static_cast<size_t>(std::clamp<int64_t>(some - at, 0, kU));
      const auto begin = static_cast<uint64_t>(rows == nullptr ? first + i + at : first);
      const VecU number =
          rows == nullptr ? hn::Iota(kU64, begin) : hn::Add(hn::LoadU(kU64, row + at), hn::Set(kU64, begin));
      valid[v] = hn::IfThenElseZero(hn::FirstN(kU64, lanes), low_half);
      c[v] = counter(number, hn::PromoteTo(kU64, hn::LoadU(narrow, label + at)), Purpose::kLabelSum);
    }
    philox_rounds(kLabelSumKey, c);
    for (int v = 0; v < kVectors; ++v) {
      for (int w = 0; w < 4; ++w) sums[w] = hn::Add(sums[w], hn::And(c[v].word[w], valid[v]));
    }
  }
  alignas(64) uint64_t lanes[kU];
  for (int w = 0; w < 4; ++w) {
    hn::Store(sums[w], kU64, lanes);
    for (const uint64_t lane : lanes) *sum += static_cast<LabelSum>(lane) << (32 * w);
  }
}

// `found` has room for all of the rows; returns how many there are.
int64_t draws(const DrawTask& in, int64_t first, int64_t last, RowDraw* found) {
  const VecU low_half = hn::Set(kU64, 0xffffffffU);
  const VecU draw = hn::Set(kU64, in.draw);
  const VecU largest_high = hn::Set(kU64, in.most >> 32);
  alignas(64) uint64_t numbers[kAtOnce];
  int64_t count = 0;
  for (int64_t row = first; row < last; row += kAtOnce) {
    PhiloxWords c[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      c[v] = counter(hn::Iota(kU64, static_cast<uint64_t>(row + v * kU)), draw, in.purpose);
    }
    philox_rounds(in.key, c);
    // High words decide nearly always: fewer than one vector in a thousand continues.
    VecU high = low_half;
    for (const PhiloxWords& words : c) high = hn::Min(high, hn::And(words.word[1], low_half));
    if (hn::AllTrue(kU64, hn::Gt(high, largest_high))) continue;
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(hn::Or(hn::And(c[v].word[0], low_half), hn::ShiftLeft<32>(c[v].word[1])), kU64, numbers + v * kU);
    }
    for (int64_t i = 0; i < kAtOnce && row + i < last; ++i) {
      if (numbers[i] <= in.most) found[count++] = {numbers[i], row + i};
    }
  }
  return count;
}

#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace manymeans
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace manymeans {
namespace {

std::vector<PhiloxLanes> usable_lanes() {
  std::vector<PhiloxLanes> usable;
#if HWY_TARGETS & HWY_AVX3
  if (has_avx512()) {
    usable.push_back({"avx512", N_AVX3::label_terms, N_AVX3::draws});
  }
#endif
#if HWY_TARGETS & HWY_AVX2
  if (has_avx2()) {
    usable.push_back({"avx2", N_AVX2::label_terms, N_AVX2::draws});
  }
#endif
  usable.push_back({"baseline", HWY_STATIC_DISPATCH(label_terms), HWY_STATIC_DISPATCH(draws)});
  return usable;
}

// Lanes of 64 bits hold the sum of this many words of 32 bits.
constexpr int64_t kMaxTerms = int64_t{1} << 31;

}  // namespace

std::span<const PhiloxLanes> philox_lanes() {
  static const auto& kUsable = *new std::vector<PhiloxLanes>(usable_lanes());  // never destroyed
  return kUsable;
}

LabelSum sum_of_label_terms(const int64_t* rows, int64_t first, const uint32_t* labels, int64_t count) {
  LabelSum sum = 0;
  for (int64_t i = 0; i < count; i += kMaxTerms) {
    const int64_t part = count - i < kMaxTerms ? count - i : kMaxTerms;
    philox_lanes()[0].label_terms(rows == nullptr ? nullptr : rows + i, rows == nullptr ? first + i : first, labels + i,
                                  part, &sum);
  }
  return sum;
}

void append_draws(const DrawTask& in, int64_t first, int64_t last, std::vector<RowDraw>& found) {
  constexpr int64_t kBlock = 1024;
  RowDraw block[kBlock];
  for (int64_t row = first; row < last; row += kBlock) {
    const int64_t count = philox_lanes()[0].draws(in, row, std::min(last, row + kBlock), block);
    found.insert(found.end(), block, block + count);
  }
}

}  // namespace manymeans
#endif
