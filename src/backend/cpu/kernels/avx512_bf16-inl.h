// Products of pairs of bfloat16 numbers in AVX-512 vectors (VDPBF16PS). Rows are lanes, as in float32. A word of four
// bytes holds two values of a row or column. The instruction flushes denormals and rounds to nearest:
// docs/developer/screens.md. Columns 64 bytes apart, as matrix units require, took a tenth longer. Steps of 32 values
// computed up to a third too much.
#pragma once

#include "backend/cpu/kernels/avx512_vnni-inl.h"
#include "backend/cpu/kernels/kernels-inl.h"
#include "core/processor.h"

#include <immintrin.h>

namespace manymeans {
namespace {

struct Bfloat16Unit : Bfloat16Words {
  HWY_INLINE static VecF add(VecF x, VecF z, VecF sum) {
    const auto left = reinterpret_cast<__m512bh>(x.raw), right = reinterpret_cast<__m512bh>(z.raw);
    return VecF{_mm512_dpbf16_ps(sum.raw, left, right)};
  }
};

bool have_avx512_bf16() {
  return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace
}  // namespace manymeans
