// Kernels for any machine: Highway's scalar target, one lane, eight rows at a time.
// (Its emulated vectors, EMU128, are switched off by Highway for g++ before 12.3.)
#include "backend/cpu/kernels-inl.h"

namespace manymeans {

const CpuKernels& make_portable_kernels() {
  static_assert(HWY_STATIC_TARGET == HWY_SCALAR, "the flags of this file do not give the scalar target");
  static constexpr CpuKernels kKernels =
      kernel_table<8, 2>("portable", "any machine (scalar code)", [] { return true; });
  return kKernels;
}

}  // namespace manymeans
