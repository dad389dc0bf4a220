// Device arrays of a session of linear models, in addition to the arrays of all sessions (device/session_memory.h).
#pragma once

#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/linear/linear_plan.h"
#include "core/label_width.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace manymeans::cuda {

struct LinearArrays {
  struct Shape {
    const Input& input;
    const device::SlicePlan& plan;
    std::span<const int64_t> k;
  };

  LinearArrays() = default;
  explicit LinearArrays(const Shape& shape) {
    DeviceRoom room(DeviceRoom::Mode::kAllocate);
    lay_out(shape, room);
  }
  static int64_t bytes(const Shape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { LinearArrays().lay_out(shape, room); });
  }
  void lay_out(const Shape& shape, DeviceRoom& room) {
    const auto models = static_cast<int64_t>(shape.k.size());
    const int64_t most = shape.k.empty() ? 1 : std::max<int64_t>(1, *std::ranges::max_element(shape.k));
    const int64_t clusters = std::accumulate(shape.k.begin(), shape.k.end(), int64_t{0});
    room.hold(next, models * label_stride_of_slice(shape.input, shape.plan) * label_width(most),
              "the labels of a pass");
    room.hold(ranges, models, "the models");
    room.hold(entries, product_entries(shape.input, shape.plan, models), "the rows that changed");
    room.hold(first_entries, clusters + 1, "the rows that changed");
    room.hold(next_entries, clusters, "the rows that changed");
  }

  DeviceBuffer<std::byte> next;  ///< labels that a pass finds, of a slice
  DeviceBuffer<PassRange> ranges;
  DeviceBuffer<uint32_t> entries, first_entries, next_entries;  ///< LabelOrder
};

}  // namespace manymeans::cuda
