#include "backend/opencl/runtime/opencl_platform.h"

#include <manymeans/error.h>

#include "backend/devices.h"
#include "core/mapped_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace manymeans {
namespace opencl {
namespace {

constexpr const char* kAsking = "asking for a device's properties";

template <class T>
T number_of(cl_device_id device, cl_device_info what) {
  T value{};
  check(api().clGetDeviceInfo(device, what, sizeof(T), &value, nullptr), "clGetDeviceInfo", kAsking);
  return value;
}

// Texts end with a zero, and some with spaces.
template <class Ask, class Object>
std::string text_by(Ask* ask, const char* name, Object object, cl_uint what) {
  size_t bytes = 0;
  check(ask(object, what, 0, nullptr, &bytes), name, kAsking);
  std::string text(bytes, '\0');
  check(ask(object, what, bytes, text.data(), nullptr), name, kAsking);
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string text_of(cl_device_id device, cl_device_info what) {
  return text_by(api().clGetDeviceInfo, "clGetDeviceInfo", device, what);
}

std::string text_of(cl_platform_id platform, cl_platform_info what) {
  return text_by(api().clGetPlatformInfo, "clGetPlatformInfo", platform, what);
}

// Emulated binary64 counts as none: it is slower than the host's.
bool has_binary64(cl_device_id device, const std::string& extensions) {
  if (extensions.find("cl_khr_fp64 ") == std::string::npos) return false;
  const auto config = number_of<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG);
  constexpr cl_device_fp_config kWanted = CL_FP_FMA | CL_FP_ROUND_TO_NEAREST | CL_FP_DENORM | CL_FP_INF_NAN;
  return (config & kWanted) == kWanted && (config & CL_FP_SOFT_FLOAT) == 0;
}

DeviceFacts facts_of(cl_platform_id platform, cl_device_id id) {
  DeviceFacts facts;
  facts.platform = platform;
  facts.id = id;
  facts.name = text_of(id, CL_DEVICE_NAME);
  facts.version = text_of(id, CL_DEVICE_VERSION);
  facts.driver = text_of(id, CL_DRIVER_VERSION);
  facts.platform_name = text_of(platform, CL_PLATFORM_NAME);
  facts.platform_version = text_of(platform, CL_PLATFORM_VERSION);
  facts.several_queues = runs_several_queues(facts.platform_version);
  facts.processor = (number_of<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  facts.compute_units = static_cast<int>(number_of<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS));
  facts.float_lanes = static_cast<int>(number_of<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  facts.global_memory = static_cast<int64_t>(number_of<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE));
  facts.largest_buffer = static_cast<int64_t>(number_of<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  facts.local_memory = static_cast<int64_t>(number_of<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE));
  facts.largest_group = static_cast<int64_t>(number_of<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  facts.compiler = number_of<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
  facts.little_endian = number_of<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) != CL_FALSE;
  const std::string extensions = text_of(id, CL_DEVICE_EXTENSIONS) + " ";
  facts.binary64 = has_binary64(id, extensions);
  facts.atomics64 = extensions.find("cl_khr_int64_base_atomics ") != std::string::npos;
  return facts;
}

std::string describe(const DeviceFacts& device) {
  return fmt::format("opencl:{} {}, {} MiB, {} compute units, {}; {}binary64, {}64-bit atomics", device.index,
                     device.name, device.global_memory >> 20, device.compute_units, device.version,
                     device.binary64 ? "" : "no ", device.atomics64 ? "" : "no ");
}

}  // namespace

void check_usable(const DeviceFacts& device) {
  const char* lacks = "";
  if (!device.little_endian) lacks = "numbers with the lowest byte first";
  if (!device.atomics64) lacks = "64-bit atomics";
  if (!device.binary64) lacks = "double precision";
  if (*lacks == '\0') return;
  throw Error(ErrorCode::kUnavailable, "backend opencl",
              fmt::format("{} does not have {}, which fits need; use --backend cpu", device.name, lacks));
}

bool runs_several_queues(std::string_view platform_version) {
  constexpr int kMended = 6;
  const size_t at = std::min(platform_version.find("PoCL "), platform_version.find("pocl "));
  if (at == std::string_view::npos) return true;
  const std::string_view version = platform_version.substr(at + std::string_view("PoCL ").size());
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major >= kMended;
}

std::vector<DeviceFacts> find_devices() {
  cl_uint count = 0;
  // Loaders answer with an error of their own, or with 0, where they know no platform.
  if (api().clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> platforms(count);
  check(api().clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs", "looking for OpenCL's platforms");
  std::vector<DeviceFacts> found;
  for (const cl_platform_id platform : platforms) {
    count = 0;
    const cl_int status = api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    if (status != CL_SUCCESS || count == 0) continue;  // a driver without its hardware
    std::vector<cl_device_id> ids(count);
    check(api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr), "clGetDeviceIDs",
          "looking for devices");
    for (const cl_device_id id : ids) found.push_back(facts_of(platform, id));
  }
  std::stable_partition(found.begin(), found.end(), [](const DeviceFacts& device) { return !device.processor; });
  for (size_t i = 0; i < found.size(); ++i) found[i].index = static_cast<int>(i);
  go_on_replacing_lost_pages();  // drivers with a compiler have handlers of their own
  return found;
}

}  // namespace opencl

std::vector<std::string> opencl_devices() {
  std::vector<std::string> lines;
  try {
    for (const opencl::DeviceFacts& device : opencl::find_devices()) lines.push_back(opencl::describe(device));
  } catch (const Error&) {
    return {};  // the list of backends says why
  }
  return lines;
}

int opencl_device_count() {
  try {
    return static_cast<int>(opencl::find_devices().size());
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace manymeans
