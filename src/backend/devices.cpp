#include "backend/devices.h"

namespace manymeans {

std::vector<std::string> devices() {
  return cuda_devices();
}

}  // namespace manymeans
