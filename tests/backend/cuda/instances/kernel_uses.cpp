// The linker puts the functions __wrap_... here in place of the runtime's (--wrap, CMakeLists.txt).
#include "kernel_uses.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <regex>

namespace manymeans::test {
namespace {

std::mutex& mutex() {
  static std::mutex one;
  return one;
}

// The kernel's name and its template's arguments, behind its file if its name stands in that alone.
std::string readable(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  name = std::regex_replace(name, std::regex("^void |manymeans::(cuda::)?|\\(anonymous namespace\\)::"), "");
  name = name.substr(0, name.find('('));  // its parameters say nothing
  std::smatch file;
  std::regex_search(mangled, file, std::regex("_GLOBAL__N__[0-9a-f]+_[0-9]+_(\\w+?)_cu_"));
  return file.empty() ? name : file[1].str() + ": " + name;
}

struct Launch {
  const KernelUse* use = nullptr;
  cudaEvent_t ended = nullptr;  // null: unknown
};

// The last launches, in a ring.
struct Trail {
  std::array<Launch, 64> launches;
  size_t next = 0;
  bool marks = false;
  int64_t rows = 0;
};
Trail& trail() {
  static Trail one;
  return one;
}

void note(const void* function, cudaStream_t stream, cudaError_t status) {
  KernelUse* use = kernel_use(function);
  if (use == nullptr || status != cudaSuccess) return;
  ++use->launches;
  const std::lock_guard lock(mutex());
  Trail& all = trail();
  use->max_rows = std::max<int64_t>(use->max_rows, all.rows);
  Launch& launch = all.launches[all.next++ % all.launches.size()];
  if (launch.ended != nullptr) cudaEventDestroy(launch.ended);
  launch = {use, nullptr};
  if (!all.marks) return;
  if (cudaEventCreateWithFlags(&launch.ended, cudaEventDisableTiming) != cudaSuccess) return;
  cudaEventRecord(launch.ended, stream);
}

template <class Body>
void for_launches(const Body& body) {
  Trail& all = trail();
  const size_t size = all.launches.size();
  for (size_t i = all.next > size ? all.next - size : 0; i < all.next; ++i) body(all.launches[i % size]);
}

}  // namespace

std::deque<KernelUse>& kernel_uses() {
  static std::deque<KernelUse> all;
  return all;
}

KernelUse* kernel_use(const void* function) {
  for (KernelUse& use : kernel_uses()) {
    if (use.function == function) return &use;
  }
  return nullptr;
}

void begin_rows(int64_t rows) {
  const std::lock_guard lock(mutex());
  trail().rows = rows;
}

void mark_launches(bool wanted) {
  const std::lock_guard lock(mutex());
  trail().marks = wanted;
}

std::vector<std::string> last_launches() {
  const std::lock_guard lock(mutex());
  std::vector<std::string> names;
  for_launches([&](const Launch& launch) { names.push_back(launch.use->name); });
  return names;
}

std::string unfinished_kernel() {
  const std::lock_guard lock(mutex());
  std::string name;
  for_launches([&](const Launch& launch) {
    if (!name.empty() || launch.ended == nullptr) return;
    if (cudaEventQuery(launch.ended) == cudaErrorNotReady) name = launch.use->name;
  });
  return name;
}

}  // namespace manymeans::test

using manymeans::test::kernel_uses;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the runtime's and the linker's names
extern "C" {

void __real___cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __wrap___cudaRegisterFunction(void** module, const char* host, char* device, const char* name, int threads,
                                   uint3* thread, uint3* block, dim3* block_size, dim3* grid_size, int* warp) {
  if (std::strstr(name, "manymeans") != nullptr) {  // not CUB's
    kernel_uses().emplace_back(host, manymeans::test::readable(name));
  }
  __real___cudaRegisterFunction(module, host, device, name, threads, thread, block, block_size, grid_size, warp);
}

cudaError_t __real_cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                    cudaStream_t stream) {
  const cudaError_t status = __real_cudaLaunchKernel(function, grid, block, arguments, shared, stream);
  manymeans::test::note(function, stream, status);
  return status;
}

cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  const cudaError_t status = __real_cudaLaunchKernelExC(config, function, arguments);
  manymeans::test::note(function, config->stream, status);
  return status;
}

cudaError_t __real_cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                               size_t shared, cudaStream_t stream) {
  const cudaError_t status = __real_cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, stream);
  manymeans::test::note(function, stream, status);
  return status;
}

// From CUDA 13 on kernel<<<...>>>() looks for its kernel once, and launches what it found.
#ifdef KERNELS_HAVE_HANDLES
cudaError_t __real___cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);

namespace {
struct Handle {
  cudaKernel_t kernel;
  const void* function;
};
std::deque<Handle>& handles() {
  static std::deque<Handle> all;
  return all;
}
std::mutex& handles_mutex() {
  static std::mutex one;
  return one;
}
}  // namespace

cudaError_t __wrap___cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  const cudaError_t status = __real___cudaGetKernel(kernel, function);
  const std::lock_guard lock(handles_mutex());
  if (status == cudaSuccess) handles().push_back({*kernel, function});
  return status;
}
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                      cudaStream_t stream) {
  const cudaError_t status = __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
  const void* function = nullptr;
  {
    const std::lock_guard lock(handles_mutex());
    for (const Handle& handle : handles()) function = handle.kernel == kernel ? handle.function : function;
  }
  manymeans::test::note(function, stream, status);
  return status;
}
#endif

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
