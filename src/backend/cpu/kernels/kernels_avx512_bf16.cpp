// Kernels for AVX-512 with bfloat16 products (Zen 4, Sapphire Rapids and later): the AVX-512 kernels, and a bfloat16
// screen.
#include "backend/cpu/kernels/avx512_bf16-inl.h"

namespace manymeans {

const CpuKernels& make_avx512_bf16_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_AVX3, "the flags of this file do not give AVX-512");
  static constexpr ScreenKernels kScreens[] = {
      float32_screen<3, 8>(),
      lanes_screen<Bfloat16Unit, 3, 8>(),
  };
  static constexpr CpuKernels kKernels =
      with_coded(kernel_table<3, 8>("avx512_bf16", "AVX-512 with bfloat16 products", have_avx512_bf16, kScreens, 2));
  return kKernels;
}

}  // namespace manymeans
