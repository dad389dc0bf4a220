// Products of bfloat16 pairs in AVX-512 vectors (VDPBF16PS): 16 rows are the lanes, columns are broadcast.
// Bound: one instruction per 32 products; 8 columns x 2 vectors of rows keep 16 sums in registers against 2 loads and 8
// broadcasts per pair of values. The instruction flushes denormals and rounds to nearest: docs/developer/screens.md.
#pragma once

#include "backend/cpu/kernels/avx512_vnni-inl.h"
#include "backend/cpu/kernels/matrix_kernels-inl.h"
#include "core/processor.h"

#include <immintrin.h>

#include <cstring>

namespace manymeans {
namespace {

struct VectorPairs {
  using Panel = FloatPanel;
  static constexpr int kBlock = 8;

  static __m512bh pair(const char* at) {
    int32_t two;
    std::memcpy(&two, at, sizeof two);
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
  }

  // One step's products of 8 columns.
  static void add_step(const char* tile, const char* columns, __m512 (&sums)[kBlock][2]) {
#pragma GCC unroll 2
    for (int p = 0; p < 16; ++p) {
      const auto low = reinterpret_cast<__m512bh>(_mm512_load_si512(tile + p * 64));
      const auto high = reinterpret_cast<__m512bh>(_mm512_load_si512(tile + kUnitBytes + p * 64));
#pragma GCC unroll 8
      for (int r = 0; r < kBlock; ++r) {
        const __m512bh z = pair(columns + r * 64 + p * 4);
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], low, z);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], high, z);
      }
    }
  }

  static double peak(int64_t rounds) {
    constexpr int kSums = 10;
    __m512 sums[kSums];
#pragma GCC unroll 10
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_setzero_ps();
    const volatile int32_t given = 0x3f003f00;  // 0.5, 0.5
    const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(given));
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 10
      for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], x, x);
    }
    for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
    const volatile float kept = _mm512_cvtss_f32(sums[0]);
    static_cast<void>(kept);
    return 2.0 * 32 * kSums * static_cast<double>(rounds);
  }

  static void multiply(const MatrixSteps& steps, const char* tile, const char* span, int columns, float* panel) {
    for (int first = 0; first < columns; first += kBlock) {
      __m512 sums[kBlock][2];
#pragma GCC unroll 8
      for (auto& row : sums) row[0] = row[1] = _mm512_setzero_ps();
      for (int p = 0; p < steps.products; ++p) {
        add_step(tile + steps.x[p] * kStepBytes, span + steps.z[p] * kStepBytes + first * 64, sums);
      }
#pragma GCC unroll 8
      for (int r = 0; r < kBlock; ++r) {
        _mm512_store_ps(panel + (first + r) * kMatrixRows, sums[r][0]);
        _mm512_store_ps(panel + (first + r) * kMatrixRows + 16, sums[r][1]);
      }
    }
  }
};

bool have_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace
}  // namespace manymeans
