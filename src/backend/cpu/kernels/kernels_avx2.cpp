// Kernels for AVX2 with FMA (every x86 server core since Haswell and Zen).
// 16 registers: 3 x 4 sums, 3 rows of the tile, 1 broadcast.
#include "backend/cpu/kernels/kernels-inl.h"
#include "core/processor.h"

namespace manymeans {

const CpuKernels& make_avx2_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_AVX2, "the flags of this file do not give AVX2");
  static constexpr ScreenKernels kScreens[] = {float32_screen<3, 4>()};
  static constexpr CpuKernels kKernels = kernel_table<3, 4>("avx2", "AVX2 with FMA and BMI2", has_avx2, kScreens, 1);
  return kKernels;
}

}  // namespace manymeans
