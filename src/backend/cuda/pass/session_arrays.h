// What every session has in device memory, whatever its screen.
#pragma once

#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/device/session_shape.h"

#include <cstddef>
#include <cstdint>

namespace manymeans::cuda {

struct SessionArrays {
  SessionArrays() = default;
  explicit SessionArrays(const SessionShape& shape) {
    DeviceRoom room(DeviceRoom::Mode::kAllocate);
    lay_out(shape, room);
  }
  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { SessionArrays().lay_out(shape, room); });
  }
  void lay_out(const SessionShape& shape, DeviceRoom& room) {
    const int64_t values = shape.clusters() * shape.d;
    const int64_t width = shape.label_width();
    room.hold(current, shape.models() * shape.label_stride() * width, "the labels");
    // Bounding boxes change labels where they are; this is for those of one model in their rows' order.
    const int64_t found = shape.bounding_boxes > 0 ? 1 : shape.models();
    room.hold(next, found * shape.slice_stride() * width, "the labels of a pass");
    room.hold(prototypes, values * (shape.float64 ? 8 : 4), "the prototypes");
    room.hold(sums, values * shape.limbs, "the clusters' sums");
    room.hold(weights, shape.clusters(), "the clusters' weights");
    room.hold(counts, shape.clusters(), "the clusters' counts");
    room.hold(ranges, shape.models(), "the models");
    room.hold(control, 1, "the state of a pass");
  }

  DeviceBuffer<std::byte> current;  ///< labels of all rows
  DeviceBuffer<std::byte> next;     ///< those that a pass finds, of a slice
  DeviceBuffer<std::byte> prototypes;
  DeviceBuffer<long long> sums, weights, counts;
  DeviceBuffer<PassRange> ranges;
  DeviceBuffer<PassControl> control;
};

}  // namespace manymeans::cuda
