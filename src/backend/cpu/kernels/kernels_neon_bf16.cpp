// Kernels for NEON with bfloat16 products (BFDOT: Neoverse N2, V1, V2 and later): the NEON kernels, and a bfloat16
// screen. BFDOT rounds to odd and flushes denormals, on some processors; docs/developer/screens.md allows both.
#include "backend/cpu/kernels/kernels-inl.h"
#include "core/os/machine.h"

#include <arm_neon.h>

namespace manymeans {
namespace {

struct Bfloat16Unit : Bfloat16Words {
  HWY_INLINE static VecF add(VecF x, VecF z, VecF sum) {
    return VecF{vbfdotq_f32(sum.raw, vreinterpretq_bf16_f32(x.raw), vreinterpretq_bf16_f32(z.raw))};
  }
};

}  // namespace

const CpuKernels& make_neon_bf16_kernels() {
  static_assert(HWY_ARCH_ARM && kLanes == 4, "the flags of this file do not give NEON");
  static constexpr ScreenKernels kScreens[] = {float32_screen<4, 4>(), lanes_screen<Bfloat16Unit, 4, 4>()};
  static constexpr CpuKernels kKernels =
      kernel_table<4, 4>("neon_bf16", "NEON with bfloat16 products", finds_bfdot, kScreens, 2);
  return kKernels;
}

}  // namespace manymeans
