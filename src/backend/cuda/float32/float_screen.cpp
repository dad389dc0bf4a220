#include "backend/cuda/float32/float_screen.h"

#include <algorithm>

namespace manymeans::cuda {

FloatPrototypes::FloatPrototypes(const SessionShape& shape, const FloatFrame& frame) : d_(shape.d), frame_(frame) {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
}

void FloatPrototypes::lay_out(const SessionShape& shape, DeviceRoom& room) {
  const int64_t floats = shape.d <= kLowColumns ? low_column_floats(shape.d) : shape.d + 3;
  room.hold(columns_, shape.padded_clusters(float_column_multiple(shape.d)) * floats, "the prototypes' columns");
}

FloatColumns FloatPrototypes::columns(uint32_t* far) {
  FloatColumns columns;
  columns.far = far;
  if (d_ <= kLowColumns) {
    columns.starts = columns_.data();
    columns.slopes = columns.starts + 1;
    columns.values = columns.starts + 2;
    columns.stride = columns.value_stride = low_column_floats(d_);
    return columns;
  }
  const auto count = static_cast<int64_t>(columns_.size()) / (d_ + 3);
  columns.starts = columns_.data();
  columns.slopes = columns.starts + count;
  columns.errors = columns.slopes + count;
  columns.values = columns.errors + count;
  columns.stride = 1;
  columns.value_stride = d_;
  return columns;
}

FloatScreenTask FloatPrototypes::task(const PassWork& pass, const PointSlice& slice, ExactStage& exact) {
  FloatScreenTask task;
  task.points = slice.points;
  task.frame = frame_.frame;
  task.bound = frame_.bound;
  task.norms = slice.norms;
  task.ranges = pass.ranges;
  task.next = pass.next;
  task.marks = exact.marks();
  task.mark_stride = exact.mark_stride();
  task.columns = columns(exact.far_from_float());
  return task;
}

void FloatScreen::enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) {
  const FloatScreenTask task = prototypes_.task(pass, slice, exact_);
  float_pack(task, stream);
  float_screen(task, multiprocessors_, stream);
  exact_.resolve_marks(pass, slice, stream);
  exact_.accumulate(pass, slice, stream);
}

int64_t marked_capacity(int64_t rows, int64_t models) {
  return std::max(models * 128, std::min(rows * models / 2, int64_t{1} << 19));
}

int64_t marked_slices(int64_t marked) {
  constexpr int64_t kMaxSliceTops = int64_t{4} << 20;
  return std::clamp<int64_t>(kMaxSliceTops / marked, 1, 16);
}

SecondLook::SecondLook(const SessionShape& shape, const FloatFrame& frame, int multiprocessors)
    : prototypes_(shape, frame), multiprocessors_(multiprocessors) {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
}

void SecondLook::lay_out(const SessionShape& shape, DeviceRoom& room) {
  const int64_t marked = marked_capacity(shape.slice_rows, shape.models());
  room.hold(rows_, marked, "the marked rows");
  room.hold(tops_, marked * marked_slices(marked), "the marked rows");
  room.hold(counts_, shape.models(), "the marked rows");
}

void SecondLook::enqueue(const PassWork& pass, const PointSlice& slice, ExactStage& exact, const Stream& stream) {
  FloatScreenTask task = prototypes_.task(pass, slice, exact);
  task.wanted = exact.any_marked();
  MarkedRows marked;
  marked.rows = rows_.data();
  marked.counts = counts_.data();
  marked.capacity = static_cast<int64_t>(rows_.size()) / pass.ranges.count;
  marked.top = tops_.data();
  const auto most = static_cast<int64_t>(tops_.size() / rows_.size());
  marked.slices = static_cast<int32_t>(std::clamp<int64_t>(pass.ranges.max_clusters / (4 * kTileMultiple), 1, most));
  float_pack(task, stream);
  float_screen_marked(task, marked, multiprocessors_, stream);
}

}  // namespace manymeans::cuda
