#include "backend/devices.h"

#include <manymeans/error.h>
#include <manymeans/info.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace manymeans {
namespace {

struct DeviceKind {
  std::string_view backend;
  int (*count)();
};
constexpr DeviceKind kKinds[] = {{"cuda", cuda_device_count}, {"opencl", opencl_device_count}};

const DeviceKind* find_kind(std::string_view backend) {
  const auto* const at = std::ranges::find(kKinds, backend, &DeviceKind::backend);
  return at == std::end(kKinds) ? nullptr : at;
}

}  // namespace

std::vector<std::string> devices() {
  std::vector<std::string> lines = cuda_devices();
  for (std::string& line : opencl_devices()) lines.push_back(std::move(line));
  return lines;
}

int device_count(std::string_view backend) {
  const DeviceKind* kind = find_kind(backend);
  return kind == nullptr ? 0 : kind->count();
}

std::string& missing_cuda() {
  static std::string why = "this build has none (CMake option MANYMEANS_CUDA)";
  return why;
}

void explain_missing_cuda(std::string why) {
  missing_cuda() = std::move(why);
}

BackendName split_name(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {name, std::nullopt};
  const std::string_view backend = name.substr(0, colon), number = name.substr(colon + 1);
  int device = -1;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), device);
  const bool whole = problem == std::errc() && end == number.data() + number.size();
  if (whole && device >= 0 && find_kind(backend) != nullptr) return {backend, device};
  throw Error(ErrorCode::kUsage, "backend",
              fmt::format("'{}' names no device; cuda and opencl have some, as in cuda:0", name));
}

}  // namespace manymeans
