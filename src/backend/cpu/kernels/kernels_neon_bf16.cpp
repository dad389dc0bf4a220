// Kernels for NEON with bfloat16 products (BFDOT: Neoverse N2, V1, V2 and later): the NEON kernels, and a bfloat16
// screen. BFDOT rounds to odd and flushes denormals, on some processors; docs/developer/screens.md allows both.
#include "backend/cpu/kernels/kernels-inl.h"
#include "core/processor.h"

#include <arm_neon.h>

namespace manymeans {
namespace {

struct Bfloat16Unit {
  static constexpr ScreenFormat kFormat = ScreenFormat::kBfloat16;
  static constexpr int kValues = 2;
  static constexpr uint32_t kBits = 0;
  static constexpr int kChains = 4;
  static constexpr int32_t kHalf = 0x3f003f00;
  HWY_INLINE static VecF add(VecF x, VecF z, VecF sum) {
    return VecF{vbfdotq_f32(sum.raw, vreinterpretq_bf16_f32(x.raw), vreinterpretq_bf16_f32(z.raw))};
  }
};

}  // namespace

const CpuKernels& make_neon_bf16_kernels() {
  static_assert(HWY_ARCH_ARM && kLanes == 4, "the flags of this file do not give NEON");
  static constexpr ScreenKernels kScreens[] = {float32_screen<4, 4>(), lanes_screen<Bfloat16Unit, 4, 4>()};
  static constexpr CpuKernels kKernels =
      kernel_table<4, 4>("neon_bf16", "NEON with bfloat16 products", has_neon_bf16, kScreens, 2);
  return kKernels;
}

}  // namespace manymeans
