#include "backend/opencl/runtime/tuned_parameters.h"

#include <manymeans/error.h>

#include "core/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <system_error>

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
    {true, 16, {.width = 16, .columns = 4, .long_columns = 8, .group = 1, .contiguous = true, .items_a_unit = 8}},
    {true, 0, {.width = 8, .columns = 2, .long_columns = 4, .group = 1, .contiguous = true, .items_a_unit = 8}},
    {false, 0, {}},
};

// What a parameter may be.
struct Setting {
  const char* name;
  std::initializer_list<int> values;  // none: any from 1 on
  void (*set)(TunedParameters& parameters, int value);
};

// What resolve() of exact.cl, which takes most, has in local memory for each work-item, and some more.
constexpr int64_t kLocalBytesOfAnItem = 160;

const Setting kSettings[] = {
    {"width", {4, 8, 16}, [](TunedParameters& to, int value) { to.width = value; }},
    {"columns", {2, 4, 8, 16}, [](TunedParameters& to, int value) { to.columns = value; }},
    {"long_columns", {2, 4, 8, 16}, [](TunedParameters& to, int value) { to.long_columns = value; }},
    {"group", {}, [](TunedParameters& to, int value) { to.group = value; }},
    {"items_a_unit", {}, [](TunedParameters& to, int value) { to.items_a_unit = value; }},
    {"contiguous", {0, 1}, [](TunedParameters& to, int value) { to.contiguous = value != 0; }},
    {"fused", {0, 1}, [](TunedParameters& to, int value) { to.fused = value != 0; }},
    {"low_contention", {0, 1}, [](TunedParameters& to, int value) { to.low_contention = value != 0; }},
};

// One "name=value".
void apply(std::string_view setting, TunedParameters& to) {
  const size_t middle = std::min(setting.find('='), setting.size());
  const std::string_view number = setting.substr(std::min(middle + 1, setting.size()));
  int value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_number = !number.empty() && problem == std::errc() && end == number.data() + number.size();
  for (const Setting& known : kSettings) {
    if (setting.substr(0, middle) != known.name || !is_number) continue;
    const bool fits =
        known.values.size() == 0 ? value >= 1 : std::ranges::find(known.values, value) != known.values.end();
    if (fits) return known.set(to, value);
  }
  throw Error(
      ErrorCode::kUsage, "MANYMEANS_OPENCL_TUNED",
      fmt::format("'{}' is no setting; use width=8 and the like, as 'manymeans bench --tune opencl' prints them",
                  setting));
}

}  // namespace

TunedParameters with_settings(const TunedParameters& parameters, const std::string& settings) {
  TunedParameters found = parameters;
  for (size_t first = 0; first < settings.size();) {
    const size_t end = std::min(settings.find(',', first), settings.size());
    apply(std::string_view(settings).substr(first, end - first), found);
    first = end + 1;
  }
  // Kernels for neighbouring items number groups and work-items alike.
  if (found.contiguous && found.group != 1) {
    throw Error(ErrorCode::kUsage, "MANYMEANS_OPENCL_TUNED",
                fmt::format("contiguous=1 needs group=1, and the group has {} work-items; use group=1,contiguous=1, or "
                            "contiguous=0",
                            found.group));
  }
  return found;
}

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
    found = with_settings(found, environment::opencl_tuned());
    const int64_t largest = std::min(device.largest_group, device.local_memory / kLocalBytesOfAnItem);
    if (found.group > largest) found.group = static_cast<int>(std::max<int64_t>(1, largest));
    return found;
  }
  return {};
}

}  // namespace manymeans::opencl
