// What a kernel gets of the current device when it is launched.
#pragma once

#include <cstddef>

namespace manymeans::cuda {

/// Lets launches of a kernel on the current device take as much dynamic shared memory as it has for a block. To be
/// called before a launch that takes more than 48 KiB. Any number of threads may do so at once: what a kernel may have
/// belongs to the kernel and the device, and threads share both, so it is always the same number and never what one
/// problem needs (a larger one might be launched in between). Nothing else in the library sets it.
void allow_all_shared_memory(const void* kernel, const char* doing);

/// What the compiler made of a kernel for the current device.
struct CompiledKernel {
  int architecture = 0;     ///< 80, 90, ...
  size_t shared_bytes = 0;  ///< of its own variables
};
/// The runtime is asked once: it takes as long as a part of a launch, and a small product has four.
CompiledKernel compiled_kernel(const void* kernel, const char* doing);

/// Of the current device.
int multiprocessors_here();

template <class... Parameters>
void allow_all_shared_memory(void (*kernel)(Parameters...), const char* doing) {
  allow_all_shared_memory(reinterpret_cast<const void*>(kernel), doing);
}
template <class... Parameters>
CompiledKernel compiled_kernel(void (*kernel)(Parameters...), const char* doing) {
  return compiled_kernel(reinterpret_cast<const void*>(kernel), doing);
}

}  // namespace manymeans::cuda
