#include "founding/opencl_session.h"

#include <manymeans/error.h>

#include <fmt/format.h>

namespace manymeans::founding {
namespace {

using opencl::api;

void check_call(cl_int status, const char* function) {
  opencl::check(status, function, "plain OpenCL");
}

}  // namespace

void check_group(int device, int64_t work_items, int64_t local_bytes) {
  const opencl::DeviceFacts facts = opencl::facts_of_device(device);
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::kUnavailable, "plain OpenCL", what); };
  if (local_bytes > facts.local_memory) {
    refuse(fmt::format("the models need {} bytes of local memory, and the device has {}; take fewer models or clusters",
                       local_bytes, facts.local_memory));
  }
  if (work_items > facts.largest_group) {
    refuse(fmt::format("--group is {}, and the device allows at most {}", work_items, facts.largest_group));
  }
}

OpenClSession::OpenClSession(int device, std::string_view source, const std::string& options)
    : device_(opencl::open_device(device)) {
  cl_int status = CL_SUCCESS;
  const cl_device_id id = facts().id;
  const char* text = source.data();
  const size_t length = source.size();
  queue_ = api().clCreateCommandQueue(device_.context(), id, 0, &status);
  check_call(status, "clCreateCommandQueue");
  program_ = api().clCreateProgramWithSource(device_.context(), 1, &text, &length, &status);
  check_call(status, "clCreateProgramWithSource");
  status = api().clBuildProgram(program_, 1, &id, ("-cl-std=CL1.2 " + options).c_str(), nullptr, nullptr);
  if (status == CL_BUILD_PROGRAM_FAILURE) {
    size_t bytes = 0;
    api().clGetProgramBuildInfo(program_, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
    std::string log(bytes, ' ');
    api().clGetProgramBuildInfo(program_, id, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
    throw Error(ErrorCode::kInternal, "plain OpenCL", "the kernels do not compile: " + log);
  }
  check_call(status, "clBuildProgram");
}

OpenClSession::~OpenClSession() {
  for (const cl_mem buffer : buffers_) api().clReleaseMemObject(buffer);
  for (const auto& [name, kernel] : kernels_) api().clReleaseKernel(kernel);
  api().clReleaseProgram(program_);
  api().clReleaseCommandQueue(queue_);
}

cl_mem OpenClSession::make_buffer(size_t bytes) {
  if (static_cast<int64_t>(bytes) > facts().largest_buffer) {
    throw Error(ErrorCode::kUnavailable, "plain OpenCL",
                fmt::format("an array has {} bytes, and the device allows {}", bytes, facts().largest_buffer));
  }
  cl_int status = CL_SUCCESS;
  const cl_mem buffer = api().clCreateBuffer(device_.context(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check_call(status, "clCreateBuffer");
  buffers_.push_back(buffer);
  return buffer;
}

void OpenClSession::finish() {
  check_call(api().clFinish(queue_), "clFinish");
}

cl_kernel OpenClSession::kernel_named(const char* name) {
  cl_kernel& kernel = kernels_[name];
  if (kernel != nullptr) return kernel;
  cl_int status = CL_SUCCESS;
  const cl_kernel made = api().clCreateKernel(program_, name, &status);
  check_call(status, "clCreateKernel");
  return kernel = made;
}

void OpenClSession::set(cl_kernel kernel, cl_uint place, const void* value, size_t bytes) {
  check_call(api().clSetKernelArg(kernel, place, bytes, value), "clSetKernelArg");
}

void OpenClSession::enqueue(cl_kernel kernel, size_t groups, size_t work_items) {
  const size_t all = groups * work_items;
  check_call(api().clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &all, &work_items, 0, nullptr, nullptr),
             "clEnqueueNDRangeKernel");
}

void OpenClSession::write_bytes(cl_mem to, const void* from, size_t bytes) {
  check_call(api().clEnqueueWriteBuffer(queue_, to, CL_TRUE, 0, bytes, from, 0, nullptr, nullptr),
             "clEnqueueWriteBuffer");
}

void OpenClSession::read_bytes(void* to, cl_mem from, size_t bytes) {
  check_call(api().clEnqueueReadBuffer(queue_, from, CL_TRUE, 0, bytes, to, 0, nullptr, nullptr),
             "clEnqueueReadBuffer");
}

}  // namespace manymeans::founding
