// What a kernel gets of the current device when it is launched.
#pragma once

namespace manymeans::cuda {

/// Lets launches of a kernel on the current device take as much dynamic shared memory as it has for a block. To be
/// called before a launch that takes more than 48 KiB. Any number of threads may do so at once: what a kernel may have
/// belongs to the kernel and the device, and threads share both, so it is always the same number and never what one
/// problem needs (a larger one might be launched in between). Nothing else in the library sets it.
void allow_all_shared_memory(const void* kernel, const char* doing);

/// Of the current device.
int multiprocessors_here();

template <class... Parameters>
void allow_all_shared_memory(void (*kernel)(Parameters...), const char* doing) {
  allow_all_shared_memory(reinterpret_cast<const void*>(kernel), doing);
}

}  // namespace manymeans::cuda
