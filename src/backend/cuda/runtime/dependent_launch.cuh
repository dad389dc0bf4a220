// Kernels that follow each other within microseconds: the next one comes onto the device while the one before still
// runs, and waits there for its end. Saves a microsecond or so a kernel, of which a pass of a small problem has ten.
// See "Programmatic Dependent Launch" in NVIDIA's CUDA C++ Programming Guide.
#pragma once

#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/wait_point.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

namespace manymeans::cuda {

/// The first statement of every kernel that launch_dependent() starts, for all its threads, before anything is read or
/// written: waits until the kernel before has ended and what it wrote can be seen. A kernel that did without would let
/// the one after it run before the one before it.
__device__ __forceinline__ void await_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  wait_point();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  wait_point();
#endif
}

/// The next statement in short kernels: the kernel after may come as soon as all blocks of this one are here, not when
/// they have ended. Beside a long kernel it would only hold places, and have the part of the first cache that that
/// kernel's shared memory leaves.
__device__ __forceinline__ void let_next_kernel_come() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  wait_point();
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  wait_point();
#endif
}

/// How a kernel is launched.
struct Launch {
  dim3 grid;
  int threads;
  size_t shared;  ///< bytes
  cudaStream_t stream;
};

/// kernel<<<grid, threads, shared, stream>>>(arguments...), early where the kernel's code knows how to wait: not what
/// the device could do counts, but for which architecture its code was compiled.
template <class... Parameters>
void launch_dependent(void (*kernel)(Parameters...), const Launch& launch, const char* doing,
                      const std::type_identity_t<Parameters>&... arguments) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = launch.grid;
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = launch.shared;
  config.stream = launch.stream;
  config.attrs = &early;
  config.numAttrs = compiled_kernel(kernel, doing).architecture >= 90 ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), doing);
}

}  // namespace manymeans::cuda
