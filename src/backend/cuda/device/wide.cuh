// Wide signed integers on a device (and on the host, for tests). Sums of limbs are put together, compared and rounded
// exactly. core/wide_int.h is the same for the host alone.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace manymeans::cuda {

__host__ __device__ inline uint64_t high_product(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}

__host__ __device__ inline int leading_zeros(uint64_t v) {
#ifdef __CUDA_ARCH__
  return __clzll(static_cast<long long>(v));
#else
  return v == 0 ? 64 : __builtin_clzll(v);
#endif
}

/// v * 2^e, rounded only if the result is a denormal number; e within +-3000.
__host__ __device__ inline double scaled_by_power(double v, int e) {
  while (e > 1000) {
    v *= 0x1p1000;
    e -= 1000;
  }
  while (e < -1000) {
    v *= 0x1p-1000;
    e += 1000;
  }
#ifdef __CUDA_ARCH__
  return v * __longlong_as_double(static_cast<long long>(e + 1023) << 52);
#else
  return v * __builtin_ldexp(1.0, e);
#endif
}

/// W words of 64 bits in two's complement, least significant first. W = 3 holds sums of squared distances, 4 the sums
/// of float32 points, 7 everything of the contract.
template <int W>
struct Wide {
  uint64_t word[W] = {};

  /// += value * 2^shift, 0 <= shift < 64 W.
  __host__ __device__ void add_shifted(int64_t value, int shift) {
    const uint64_t low = static_cast<uint64_t>(value);
    const uint64_t sign = value < 0 ? ~uint64_t{0} : 0;
    const int first = shift / 64;
    const int bit = shift % 64;
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      if (i < first) continue;
      const uint64_t here = i == first ? low : sign;
      const uint64_t below = i == first ? 0 : (i == first + 1 ? low : sign);
      const uint64_t term = bit == 0 ? here : (here << bit) | (below >> (64 - bit));
      carry = add_word(word[i], term, carry);
    }
  }
  __host__ __device__ void add(const Wide& other) {
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) carry = add_word(word[i], other.word[i], carry);
  }
  __host__ __device__ void negate() {
    uint64_t carry = 1;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const uint64_t flipped = ~word[i];
      word[i] = flipped + carry;
      carry = word[i] < carry ? 1 : 0;
    }
  }
  __host__ __device__ bool negative() const { return static_cast<int64_t>(word[W - 1]) < 0; }
  __host__ __device__ bool is_zero() const {
    uint64_t any = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) any |= word[i];
    return any == 0;
  }
  /// this < other, as signed numbers.
  __host__ __device__ bool less(const Wide& other) const {
    const auto top = static_cast<int64_t>(word[W - 1]);
    const auto other_top = static_cast<int64_t>(other.word[W - 1]);
    if (top != other_top) return top < other_top;
#pragma unroll
    for (int i = W - 2; i >= 0; --i) {
      if (word[i] != other.word[i]) return word[i] < other.word[i];
    }
    return false;
  }
  /// Of a number that is not negative: times `factor`, one word longer.
  __host__ __device__ Wide<W + 1> times(uint64_t factor) const {
    Wide<W + 1> result;
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const uint64_t low = word[i] * factor;
      result.word[i] = low + carry;
      carry = high_product(word[i], factor) + (result.word[i] < low ? 1 : 0);
    }
    result.word[W] = carry;
    return result;
  }
  /// RN(this): the nearest binary64, ties to even.
  __host__ __device__ double to_double() const {
    Wide magnitude = *this;
    if (negative()) magnitude.negate();
    // 64 bits from the highest one, what lies below them folded into the lowest: more than 53, guard and sticky. The
    // words are looked at without an index, so that they stay in registers.
    int high = 0;
    uint64_t top = 0;
    uint64_t next = 0;
    uint64_t rest = 0;
#pragma unroll
    for (int i = W - 1; i >= 0; --i) {
      if (top == 0) {
        top = magnitude.word[i];
        high = i;
      } else if (i == high - 1) {
        next = magnitude.word[i];
      } else {
        rest |= magnitude.word[i];
      }
    }
    if (top == 0) return 0;
    const int zeros = leading_zeros(top);
    rest |= next << zeros;
    if (zeros > 0) top = (top << zeros) | (next >> (64 - zeros));
    if (rest != 0) top |= 1;
    const double value = scaled_by_power(rounded(top), high * 64 - zeros);
    return negative() ? -value : value;
  }

 private:
  __host__ __device__ static uint64_t add_word(uint64_t& to, uint64_t term, uint64_t carry) {
    const uint64_t sum = to + term;
    const uint64_t with_carry = sum + carry;
    to = with_carry;
    return (sum < term ? 1 : 0) + (with_carry < carry ? 1 : 0);
  }
  __host__ __device__ static double rounded(uint64_t v) {
#ifdef __CUDA_ARCH__
    return __ull2double_rn(v);
#else
    return static_cast<double>(v);
#endif
  }
};

/// The integer of limbs that weigh 2^(g * bits): recombine() of core/fixed_point.h.
template <int W>
__host__ __device__ Wide<W> recombined(const int64_t* limbs, int count, int bits, int64_t stride = 1) {
  Wide<W> sum;
  for (int g = 0; g < count; ++g) sum.add_shifted(limbs[g * stride], g * bits);
  return sum;
}

}  // namespace manymeans::cuda
