// The functions of OpenCL 1.2, found at their first use. A build needs OpenCL's headers. A machine without the ICD
// loader (libOpenCL.so.1) runs everything but this backend.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>

namespace manymeans::opencl {

#define MANYMEANS_OPENCL_FUNCTIONS(X) \
  X(clBuildProgram)                   \
  X(clCreateBuffer)                   \
  X(clCreateCommandQueue)             \
  X(clCreateContext)                  \
  X(clCreateKernel)                   \
  X(clCreateProgramWithBinary)        \
  X(clCreateProgramWithSource)        \
  X(clEnqueueBarrierWithWaitList)     \
  X(clEnqueueFillBuffer)              \
  X(clEnqueueMapBuffer)               \
  X(clEnqueueNDRangeKernel)           \
  X(clEnqueueReadBuffer)              \
  X(clEnqueueUnmapMemObject)          \
  X(clEnqueueWriteBuffer)             \
  X(clFinish)                         \
  X(clFlush)                          \
  X(clGetDeviceIDs)                   \
  X(clGetDeviceInfo)                  \
  X(clGetEventInfo)                   \
  X(clGetPlatformIDs)                 \
  X(clGetPlatformInfo)                \
  X(clGetProgramBuildInfo)            \
  X(clGetProgramInfo)                 \
  X(clReleaseCommandQueue)            \
  X(clReleaseContext)                 \
  X(clReleaseEvent)                   \
  X(clReleaseKernel)                  \
  X(clReleaseMemObject)               \
  X(clReleaseProgram)                 \
  X(clRetainCommandQueue)             \
  X(clRetainEvent)                    \
  X(clSetKernelArg)

/// A pointer to each function.
struct Api {
#define MANYMEANS_OPENCL_POINTER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  MANYMEANS_OPENCL_FUNCTIONS(MANYMEANS_OPENCL_POINTER)
#undef MANYMEANS_OPENCL_POINTER
};

/// The loader's functions. Throws Error(kUnavailable) if there is no loader, or an old one.
const Api& api();
/// For tests, which make functions fail: what api() gives from now on; null: the loader's functions again.
void replace_api(const Api* other);
/// Functions of the library of this name.
Api load_api(const std::string& library);

/// Throws Error for anything but CL_SUCCESS: kUnavailable where something is missing or full, kInternal for everything
/// else. The message says what was `doing`, which function failed and how.
void check(cl_int status, const char* function, const char* doing);
/// CL_INVALID_VALUE and the like; the number where it has no name.
std::string name_of_status(cl_int status);
/// Returns true if the status says that there is no room.
bool is_out_of_memory(cl_int status);

}  // namespace manymeans::opencl
