// Resources that a kernel gets of the current device when it is launched.
#pragma once

#include <cstddef>

namespace manymeans::cuda {

/// Lets launches of a kernel on the current device take as much dynamic shared memory as it has for a block. Call
/// before a launch that takes more than 48 KiB, from any number of threads at once. Threads share the limit, which
/// belongs to the kernel and the device. So it is always the same number and never what one problem needs (a larger one
/// might be launched in between). The library sets it only here.
void allow_all_shared_memory(const void* kernel, const char* doing);

/// Bytes that a block may have on every device from compute capability 8.0 on. 8.6, 8.9 and 12.x have no more.
constexpr int kSharedEverywhere = 99 << 10;

/// Facts of a kernel compiled for the current device.
struct CompiledKernel {
  int architecture = 0;     ///< 80, 90, ...
  size_t shared_bytes = 0;  ///< of its own variables
};
/// Queries the runtime once: a query takes as long as a part of a launch, and a small product has four.
CompiledKernel compiled_kernel(const void* kernel, const char* doing);

/// Multiprocessors of the current device.
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
