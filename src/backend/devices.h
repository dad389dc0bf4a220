// Accelerators that this build can see.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// One line a device, for people; where a runtime finds none, one line that says why.
std::vector<std::string> devices();

/// Devices that a backend of this name can be told to use: 0 for one that knows none.
int device_count(std::string_view backend);

/// A backend and, if the name has a number, one of its devices: "opencl:1".
struct BackendName {
  std::string_view backend;
  std::optional<int> device;
};
/// Throws Error(kUsage) for what is no number behind the colon, and for one of a backend that knows no devices.
BackendName split_name(std::string_view name);

// Each backend's own part; backends that are not built say nothing.
std::vector<std::string> cuda_devices();
std::vector<std::string> opencl_devices();
int cuda_device_count();
std::string& missing_cuda();  // why this build has no such backend
int opencl_device_count();

}  // namespace manymeans
