// Stands in for the OpenCL backend where it is not built.
#include <manymeans/error.h>

#include "backend/backend.h"

namespace manymeans {

std::unique_ptr<Backend> make_opencl_backend(const BackendOptions&) {
  throw Error(ErrorCode::kUnavailable, "backend opencl", "this version has no OpenCL backend yet; use --backend cpu");
}

}  // namespace manymeans
