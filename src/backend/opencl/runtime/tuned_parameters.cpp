#include "backend/opencl/runtime/tuned_parameters.h"

#include "core/environment.h"

#include <fmt/format.h>

namespace manymeans::opencl {
namespace {

// What a device must be for a line to be its own.
struct TunedLine {
  bool processor;
  int float_lanes;  // of a register, at least
  TunedParameters parameters;
};

// A work-item of a processor is a group of its own, and vectors are as wide as its registers: groups of several would
// be loops that leave and enter at every barrier.
constexpr TunedLine kTable[] = {
    {true, 16, {.width = 16, .columns = 4, .long_columns = 8, .group = 1, .items_a_unit = 8, .contiguous = true}},
    {true, 0, {.width = 8, .columns = 2, .long_columns = 4, .group = 1, .items_a_unit = 8, .contiguous = true}},
    {false, 0, {}},
};

}  // namespace

std::string TunedParameters::options() const {
  return fmt::format("-DWIDTH={} -DCOLUMNS={} -DCONTIGUOUS={} -DGROUP_ITEMS={} -DFUSED={}", width, columns,
                     contiguous ? 1 : 0, group, fused ? 1 : 0);
}

TunedParameters tuned_for(const DeviceFacts& device) {
  const std::string kind = environment::opencl_kind();
  const bool processor = kind.empty() ? device.processor : kind == "processor";
  for (const TunedLine& line : kTable) {
    if (line.processor != processor || device.float_lanes < line.float_lanes) continue;
    TunedParameters found = line.parameters;
    found.fused = found.fused && device.fused;
    if (environment::opencl_sums() == "high") found.low_contention = false;
    if (found.group > device.largest_group) found.group = static_cast<int>(device.largest_group);
    return found;
  }
  return {};
}

}  // namespace manymeans::opencl
