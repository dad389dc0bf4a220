// Kernels that follow each other within microseconds. The next kernel comes onto the device while the one before still
// runs, and waits there for its end. Saves a microsecond or so a kernel; a pass of a small problem has ten kernels. See
// "Programmatic Dependent Launch" in NVIDIA's CUDA C++ Programming Guide.
#pragma once

#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "backend/cuda/runtime/wait_point.cuh"

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

namespace manymeans::cuda {

/// The first statement of every kernel that launch_dependent() starts, for all its threads, before any read or write.
/// Waits until the kernel before has ended and its writes are visible. A kernel without this call would let the next
/// kernel run before the previous one.
__device__ __forceinline__ void await_kernel_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  wait_point();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  wait_point();
#endif
}

/// The next statement in short kernels: the next kernel may come when all blocks of this one are here, not when they
/// have ended. Next to a long kernel it would only hold places. It would get only the part of the first cache that the
/// long kernel's shared memory leaves.
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

/// kernel<<<grid, threads, shared, stream>>>(arguments...). Launches early if the kernel's code can wait: the
/// architecture of the compiled code decides, not the device.
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
