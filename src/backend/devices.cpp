#include "backend/devices.h"

#include <utility>

namespace manymeans {

std::vector<std::string> devices() {
  std::vector<std::string> lines = cuda_devices();
  for (std::string& line : opencl_devices()) lines.push_back(std::move(line));
  return lines;
}

int device_count(std::string_view backend) {
  if (backend == "cuda") return cuda_device_count();
  return backend == "opencl" ? opencl_device_count() : 0;
}

}  // namespace manymeans
