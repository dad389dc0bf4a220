// Stands in for cuda_devices.cu where CUDA is not built.
#include "backend/devices.h"

namespace manymeans {

std::vector<std::string> cuda_devices() {
  return {};
}

}  // namespace manymeans
