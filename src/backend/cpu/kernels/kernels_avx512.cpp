// Kernels for AVX-512 (F, BW, CD, DQ, VL: every server core since Skylake-SP and Zen 4).
// 32 registers: 3 x 8 sums, 3 rows of the tile, 1 broadcast, the rest for the compiler.
#include "backend/cpu/kernels/kernels-inl.h"
#include "core/processor.h"

namespace manymeans {

const CpuKernels& make_avx512_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_AVX3, "the flags of this file do not give AVX-512");
  static constexpr ScreenKernels kScreens[] = {float32_screen<3, 8>()};
  static constexpr CpuKernels kKernels =
      kernel_table<3, 8>("avx512", "AVX-512 (F, BW, CD, DQ, VL)", has_avx512, kScreens, 1);
  return kKernels;
}

}  // namespace manymeans
