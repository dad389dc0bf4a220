// The screen of points in bounding boxes. It tests boxes first, for labels and statistics.
#pragma once

#include "backend/cuda/bounding_boxes/box_pass.h"
#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/device/session_shape.h"

#include <cstdint>
#include <span>

namespace manymeans::cuda {

/// Labels lie in the order of the boxes.
class BoundingBoxScreen final : public Screen {
 public:
  /// The data of the points that its passes need.
  struct Points {
    BoxedRows rows;
    BoxBound bound;
    ColumnTerms terms;
    int weight_shift = 0;
    int multiprocessors = 1;
  };

  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { BoundingBoxScreen().lay_out(shape, room); });
  }
  BoundingBoxScreen(const SessionShape& shape, const Points& points);

  std::span<uint32_t> numbers() override { return {numbers_.data(), numbers_.size()}; }
  void begin_batch(std::span<const ModelMemory>, const Stream&) override {}
  void enqueue(const PassWork& pass, const PointSlice& all, const Stream& stream) override;
  void forget(int slot, const Stream& stream) override;
  void set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current, const Stream& stream) override;
  const void* labels_of(int slot, const LabelRows& current, void* scratch, const Stream& stream) override;

 private:
  BoundingBoxScreen() = default;
  void lay_out(const SessionShape& shape, DeviceRoom& room);
  BoxTask task(const PassRanges& ranges, const LabelRows& current);

  Points points_;
  DeviceBuffer<uint32_t> numbers_;     // how many boxes a pass lists
  DeviceBuffer<uint32_t> box_labels_;  // (models, boxes)
  DeviceBuffer<BoxEntry> entries_;
};

}  // namespace manymeans::cuda
