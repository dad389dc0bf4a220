#include "backend/opencl/runtime/opencl_api.h"

#include <manymeans/error.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>

namespace manymeans::opencl {
namespace {

constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR of the loaders

Error no_loader(const std::string& why) {
  return Error(ErrorCode::kUnavailable, "backend opencl",
               "there is no OpenCL here: " + why +
                   "; install the ICD loader (Debian: ocl-icd-libopencl1) and a driver, or use --backend cpu");
}

std::atomic<const Api*> replacement = nullptr;

struct Name {
  cl_int status;
  const char* name;
};

constexpr Name kNames[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
    {CL_INVALID_PROGRAM, "CL_INVALID_PROGRAM"},
    {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
    {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
    {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
    {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
    {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
    {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
    {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
    {CL_INVALID_EVENT, "CL_INVALID_EVENT"},
    {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
    {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {kNoPlatform, "CL_PLATFORM_NOT_FOUND_KHR"},
};

bool is_missing(cl_int status) {
  return status == CL_DEVICE_NOT_FOUND || status == CL_DEVICE_NOT_AVAILABLE || status == CL_COMPILER_NOT_AVAILABLE ||
         status == kNoPlatform;
}

}  // namespace

Api load_api(const std::string& library) {
  void* const loader = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) throw no_loader(dlerror());
  Api found;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(loader, name));
    if (function == nullptr) throw no_loader(library + " has no " + name + ", which OpenCL has since 1.2");
  };
#define MANYMEANS_OPENCL_FIND(name) find(found.name, #name);
  MANYMEANS_OPENCL_FUNCTIONS(MANYMEANS_OPENCL_FIND)
#undef MANYMEANS_OPENCL_FIND
  return found;  // and the library stays: drivers do not like to be unloaded
}

const Api& api() {
  const Api* const other = replacement.load(std::memory_order_acquire);
  if (other != nullptr) return *other;
  static const Api kApi = load_api("libOpenCL.so.1");
  return kApi;
}

void replace_api(const Api* other) {
  replacement.store(other, std::memory_order_release);
}

std::string name_of_status(cl_int status) {
  for (const Name& known : kNames) {
    if (known.status == status) return fmt::format("{} ({})", known.name, status);
  }
  return fmt::format("error {}", status);
}

bool is_out_of_memory(cl_int status) {
  return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
         status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE;
}

void check(cl_int status, const char* function, const char* doing) {
  if (status == CL_SUCCESS) return;
  const bool unavailable = is_out_of_memory(status) || is_missing(status);
  throw Error(unavailable ? ErrorCode::kUnavailable : ErrorCode::kInternal, "opencl",
              fmt::format("{}: {} answered {}", doing, function, name_of_status(status)));
}

}  // namespace manymeans::opencl
