// Replaces the OpenCL backend in builds without it.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/devices.h"

namespace manymeans {

namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kUnavailable, "backend opencl",
              "this build has none (CMake option MANYMEANS_OPENCL, which needs OpenCL's headers); use --backend cpu");
}

}  // namespace

std::unique_ptr<Backend> make_opencl_backend(const BackendOptions&) {
  refuse();
}

std::vector<std::string> opencl_devices() {
  return {};
}

int opencl_device_count() {
  return 0;
}

}  // namespace manymeans
