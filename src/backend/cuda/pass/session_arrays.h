// Arrays of every CUDA session, in addition to the arrays of all devices' sessions (device/session_memory.h).
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
    // Bounding boxes change labels in place; this is for one model's labels in their rows' order.
    const int64_t found = shape.bounding_boxes > 0 ? 1 : shape.models();
    room.hold(next, found * shape.slice_stride() * shape.label_width(), "the labels of a pass");
    room.hold(ranges, shape.models(), "the models");
  }

  DeviceBuffer<std::byte> next;  ///< labels that a pass finds, of a slice
  DeviceBuffer<PassRange> ranges;
};

}  // namespace manymeans::cuda
