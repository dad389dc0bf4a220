#include "backend/opencl/runtime/launch_parameters.h"

#include "core/environment.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {
namespace {

// Local memory of a work-item, and some more. resolve() of exact.cl takes the max.
constexpr int64_t kLocalBytesOfAnItem = 160;

// A work-item of a processor is a group of its own: groups of several would be loops that leave and enter at every
// barrier. Registers of 8 lanes too: 16 rows at a time take 0.68 to 1.00 of the time of 8.
LaunchParameters of_processor(int float_lanes) {
  const bool wide = float_lanes >= 16;
  return {.width = 16,
          .columns = wide ? 4 : 2,
          .long_columns = wide ? 8 : 4,
          .group = 1,
          .contiguous = true,
          .items_a_unit = 8};
}

}  // namespace

std::string LaunchParameters::options() const {
  return fmt::format("-DWIDTH={} -DCOLUMNS={} -DCONTIGUOUS={} -DGROUP_ITEMS={}", width, columns, contiguous ? 1 : 0,
                     group);
}

LaunchParameters launch_parameters(const DeviceFacts& device) {
  const std::string kind = environment::opencl_kind();
  const bool processor = kind.empty() ? device.processor : kind == "processor";
  LaunchParameters found = processor ? of_processor(device.float_lanes) : LaunchParameters{};
  const int64_t largest = std::min(device.largest_group, device.local_memory / kLocalBytesOfAnItem);
  found.group = static_cast<int>(std::clamp<int64_t>(largest, 1, found.group));
  found.low_contention = !environment::opencl_high_contention();
  return found;
}

}  // namespace manymeans::opencl
