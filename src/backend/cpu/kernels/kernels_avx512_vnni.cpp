// Kernels for AVX-512 with products of bytes but not of bfloat16 numbers (Cascade Lake, Ice Lake): the AVX-512 kernels,
// and looks in bytes.
#include "backend/cpu/kernels/avx512_vnni-inl.h"
#include "backend/cpu/kernels/kernels-inl.h"
#include "core/processor.h"

namespace manymeans {

const CpuKernels& make_avx512_vnni_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_AVX3, "the flags of this file do not give AVX-512");
  static constexpr ScreenKernels kScreens[] = {float32_screen<3, 8>()};
  static constexpr CpuKernels kKernels = with_coded(kernel_table<3, 8>(
      "avx512_vnni", "AVX-512 with products of bytes",
      [] { return has_avx512() && __builtin_cpu_supports("avx512vnni") != 0; }, kScreens, 1));
  return kKernels;
}

}  // namespace manymeans
