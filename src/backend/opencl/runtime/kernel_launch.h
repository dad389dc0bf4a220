// Kernels with their arguments: an Address becomes its memory, LocalBytes room in local memory, everything else is
// copied. Where an address is not the beginning of its memory, the kernel gets the offset besides.
#pragma once

#include "backend/opencl/runtime/opencl_device.h"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace manymeans::opencl {

struct LocalBytes {
  size_t bytes;
};

/// Work-items: `items` of them in groups of `group`, times `models`. Which of the two is dimension 0 has to be what the
/// kernel was built for (CONTIGUOUS of common.cl).
struct Grid {
  size_t items = 1;
  size_t models = 1;
  size_t group = 1;
  bool models_first = false;
};

/// A kernel of a program; to be used by one thread at a time.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Program& program, const char* name) : name_(name) {
    cl_int status = CL_SUCCESS;
    kernel_ = api().clCreateKernel(program.get(), name, &status);
    check(status, "clCreateKernel", name);
  }
  Kernel(Kernel&& other) noexcept { swap(other); }
  Kernel& operator=(Kernel&& other) noexcept {
    Kernel moved(std::move(other));
    swap(moved);
    return *this;
  }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() {
    if (kernel_ != nullptr) api().clReleaseKernel(kernel_);
  }

  explicit operator bool() const { return kernel_ != nullptr; }

  /// Enqueues it. Runtimes copy what it is given, so that it may be launched again at once.
  template <class... Arguments>
  void operator()(const device::Queue& queue, const Grid& grid, const Arguments&... arguments) const {
    cl_uint index = 0;
    (set(index++, arguments), ...);
    enqueue(queue_of(queue), grid);
  }

 private:
  void swap(Kernel& other) noexcept {
    std::swap(kernel_, other.kernel_);
    std::swap(name_, other.name_);
  }
  void set(cl_uint index, const Address& address) const {
    const cl_mem memory = memory_of(address);
    set_bytes(index, sizeof(cl_mem), &memory);
  }
  void set(cl_uint index, const LocalBytes& room) const { set_bytes(index, room.bytes, nullptr); }
  template <class T>
  void set(cl_uint index, const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    set_bytes(index, sizeof(value), &value);
  }
  void set_bytes(cl_uint index, size_t bytes, const void* value) const {
    check(api().clSetKernelArg(kernel_, index, bytes, value), "clSetKernelArg", name_);
  }
  void enqueue(const OpenClQueue& queue, const Grid& grid) const {
    const int of_items = grid.models_first ? 1 : 0;
    size_t global[2] = {grid.models, grid.models};
    size_t local[2] = {1, 1};
    global[of_items] = grid.items;
    local[of_items] = grid.group;
    cl_event event = nullptr;
    check(api().clEnqueueNDRangeKernel(queue.get(), kernel_, 2, nullptr, global, local, 0, nullptr, &event),
          "clEnqueueNDRangeKernel", name_);
    queue.follow(event);
  }

  cl_kernel kernel_ = nullptr;
  const char* name_ = "";
};

}  // namespace manymeans::opencl
