// Accelerators that this build can see.
#pragma once

#include <string>
#include <vector>

namespace manymeans {

/// One line a device, for people; where a runtime finds none, one line that says why.
std::vector<std::string> devices();

// Each backend's own part; backends that are not built say nothing.
std::vector<std::string> cuda_devices();
std::vector<std::string> opencl_devices();

}  // namespace manymeans
