// Accelerators that this build can see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// One line a device, for people; where a runtime finds none, one line that says why.
std::vector<std::string> devices();

/// Devices that a backend of this name can be told to use: 0 for one that knows none.
int device_count(std::string_view backend);

// Each backend's own part; backends that are not built say nothing.
std::vector<std::string> cuda_devices();
std::vector<std::string> opencl_devices();
int cuda_device_count();
int opencl_device_count();

}  // namespace manymeans
