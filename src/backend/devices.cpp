#include "backend/devices.h"

#include <utility>

namespace manymeans {

std::vector<std::string> devices() {
  std::vector<std::string> lines = cuda_devices();
  for (std::string& line : opencl_devices()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace manymeans
