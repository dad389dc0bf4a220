#include "backend/cuda/bounding_boxes/bounding_box_screen.h"

namespace manymeans::cuda {

BoundingBoxScreen::BoundingBoxScreen(const SessionShape& shape, const Points& points) : points_(points) {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
}

void BoundingBoxScreen::lay_out(const SessionShape& shape, DeviceRoom& room) {
  room.hold(box_labels_, shape.models() * shape.bounding_boxes, "the bounding boxes' labels");
  room.hold(entries_, shape.models() * shape.bounding_boxes, "the bounding boxes of a pass");
  room.hold(numbers_, 1, "numbers of bounding boxes");
}

BoxTask BoundingBoxScreen::task(const PassRanges& ranges, const LabelRows& current) {
  BoxTask task;
  task.rows = points_.rows;
  task.bound = points_.bound;
  task.terms = points_.terms;
  task.weight_shift = points_.weight_shift;
  task.ranges = ranges;
  task.labels = current;
  task.box_labels = box_labels_.data();
  task.entries = entries_.data();
  task.listed = numbers_.data();
  return task;
}

void BoundingBoxScreen::enqueue(const PassWork& pass, const PointSlice& /*all*/, const Stream& stream) {
  box_pass(task(pass.ranges, pass.current), points_.multiprocessors, stream);
}

// No box is known to have one label.
void BoundingBoxScreen::forget(int slot, const Stream& stream) {
  const auto boxes = static_cast<size_t>(points_.rows.count);
  static_assert(kMixedBox == ~0U, "all bits are set");
  check(cudaMemsetAsync(box_labels_.data() + static_cast<size_t>(slot) * boxes, 0xff, boxes * sizeof(uint32_t), stream),
        "forgetting the bounding boxes' labels");
}

void BoundingBoxScreen::set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current,
                                  const Stream& stream) {
  set_boxed_label(task({}, current), slot, row, label, stream);
}

const void* BoundingBoxScreen::labels_of(int slot, const LabelRows& current, void* scratch, const Stream& stream) {
  unbox_labels(points_.rows, current, slot, scratch, stream);
  return scratch;
}

}  // namespace manymeans::cuda
