// Kernels for NEON, which every 64-bit Arm processor has.
// 32 registers: 4 x 4 sums, 4 rows of the tile, 1 broadcast, the rest for the compiler. Not yet timed.
#include "backend/cpu/kernels/kernels-inl.h"

namespace manymeans {

const CpuKernels& make_neon_kernels() {
  static_assert(HWY_ARCH_ARM && kLanes == 4, "the flags of this file do not give NEON");
  static constexpr ScreenKernels kScreens[] = {float32_screen<4, 4>()};
  static constexpr CpuKernels kKernels =
      kernel_table<4, 4>("neon", "NEON (64-bit Arm)", [] { return true; }, kScreens, 1);
  return kKernels;
}

}  // namespace manymeans
