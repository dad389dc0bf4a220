// What a session does otherwise where the points stand in boxes.
#include "backend/cuda/pass/cuda_session.h"

namespace manymeans::cuda {

void CudaSession::make_room_for_boxes() {
  const auto boxes = static_cast<size_t>(shared_.boxes->rows().count);
  box_labels_ = DeviceBuffer<uint32_t>(models_.size() * boxes, "the boxes' labels");
  box_entries_ = DeviceBuffer<BoxEntry>(models_.size() * boxes, "the boxes of a pass");
  numbers_ = DeviceBuffer<uint32_t>(kNumbers, "numbers of boxes");
}

BoxTask CudaSession::box_task(const PassRanges& ranges) {
  BoxTask task;
  task.rows = shared_.boxes->rows();
  task.bound = BoxBound::make(d(), shared_.options.tuning.cuda.bound_scale);
  task.terms = shared_.terms;
  task.weight_shift = shared_.input.weight_shift;
  task.ranges = ranges;
  task.labels = current_rows(0);
  task.box_labels = box_labels_.data();
  task.entries = box_entries_.data();
  task.listed = numbers_.data() + kListed;
  return task;
}

// Everything but passes speaks of rows: labels in their order, until the next call.
DeviceLabels CudaSession::unboxed_labels(int slot) {
  unbox_labels(shared_.boxes->rows(), current_rows(0), slot, next_.data(), stream_);
  return {next_.data(), width_};
}

// The rows' labels changed: no box is known to have one.
void CudaSession::forget_boxes(int slot) {
  const auto boxes = static_cast<size_t>(shared_.boxes->rows().count);
  static_assert(kMixedBox == ~0U, "all bits are set");
  check(
      cudaMemsetAsync(box_labels_.data() + static_cast<size_t>(slot) * boxes, 0xff, boxes * sizeof(uint32_t), stream_),
      "forgetting the boxes' labels");
}

}  // namespace manymeans::cuda
