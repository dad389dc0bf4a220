// A device, a queue and the kernels of a program: the part of an OpenCL host that is the same in every program.
#pragma once

#include "backend/opencl/runtime/opencl_device.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::founding {

extern const std::string_view kEnsembleKernels;  ///< founding_common.cl, ensemble_opencl.cl
extern const std::string_view kTreeKernels;      ///< founding_common.cl, tree_opencl.cl

/// Throws Error(kUnavailable) if the device's work-groups have less local memory, or fewer work-items. Some compilers
/// fail without a reason then, so programs ask before they build kernels.
void check_group(int device, int64_t work_items, int64_t local_bytes);

/// Throws Error as the library's OpenCL backend does. All commands run in the order of the calls.
class OpenClSession {
 public:
  /// `device` is the number that `manymeans info` says. clBuildProgram gets `options`.
  OpenClSession(int device, std::string_view source, const std::string& options);
  OpenClSession(const OpenClSession&) = delete;
  OpenClSession& operator=(const OpenClSession&) = delete;
  ~OpenClSession();

  const opencl::DeviceFacts& facts() const { return device_.facts(); }

  cl_mem make_buffer(size_t bytes);
  template <class T>
  cl_mem make_buffer_of(const std::vector<T>& values) {
    const cl_mem buffer = make_buffer(values.size() * sizeof(T));
    write(buffer, values);
    return buffer;
  }
  template <class T>
  void write(cl_mem to, const std::vector<T>& from) {
    write_bytes(to, from.data(), from.size() * sizeof(T));
  }
  template <class T>
  void read(std::vector<T>& to, cl_mem from) {
    read_bytes(to.data(), from, to.size() * sizeof(T));
  }
  /// Enqueues a kernel with these arguments.
  template <class... Values>
  void launch(const char* name, size_t groups, size_t work_items, const Values&... values) {
    const cl_kernel kernel = kernel_named(name);
    cl_uint place = 0;
    (set(kernel, place++, &values, sizeof(Values)), ...);  // NOLINT(bugprone-sizeof-expression): of handles, too
    enqueue(kernel, groups, work_items);
  }
  /// Waits for all commands.
  void finish();

 private:
  cl_kernel kernel_named(const char* name);
  void set(cl_kernel kernel, cl_uint place, const void* value, size_t bytes);
  void enqueue(cl_kernel kernel, size_t groups, size_t work_items);
  void write_bytes(cl_mem to, const void* from, size_t bytes);
  void read_bytes(void* to, cl_mem from, size_t bytes);

  const opencl::OpenClDevice& device_;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::map<std::string, cl_kernel> kernels_ = {};
  std::vector<cl_mem> buffers_ = {};
};

}  // namespace manymeans::founding
