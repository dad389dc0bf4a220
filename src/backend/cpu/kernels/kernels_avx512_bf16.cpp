// Kernels for AVX-512 with bfloat16 products (Zen 4, Sapphire Rapids and later): those of AVX-512, and the bfloat16
// screens.
#include "backend/cpu/kernels/avx512_bf16-inl.h"

namespace manymeans {

const CpuKernels& make_avx512_bf16_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_AVX3, "the flags of this file do not give AVX-512");
  static constexpr ScreenKernels kScreens[] = {
      float32_screen<3, 8>(),
      {ScreenFormat::kBfloat16, kMatrixRows, kMatrixColumns, kMatrixColumns, screen_by_panels<VectorPairs>,
       hits_by_panels<VectorPairs>, VectorPairs::peak},
      {ScreenFormat::kBfloat16Pair, kMatrixRows, kMatrixColumns, kMatrixColumns, screen_by_panels<VectorPairs>,
       hits_by_panels<VectorPairs>, VectorPairs::peak},
  };
  static constexpr CpuKernels kKernels =
      with_coded(kernel_table<3, 8>("avx512_bf16", "AVX-512 with bfloat16 products", have_avx512_bf16, kScreens, 3));
  return kKernels;
}

}  // namespace manymeans
