#include "backend/cuda/exact/exact_stage.h"

#include <algorithm>

namespace manymeans::cuda {

int64_t few_capacity(int64_t rows, int64_t models) {
  return std::clamp<int64_t>(rows * models, 4096, int64_t{16} << 20);
}

int64_t overflow_capacity(int64_t rows, int64_t models) {
  // Of all models. In early passes over clumped points an eighth of the rows and more has many candidates. Rows without
  // a place get all distances, which takes longer than everything else.
  const int64_t most = std::clamp(rows / 4, int64_t{1} << 19, int64_t{1} << 22);
  const int64_t wanted = std::min((rows + 1) / 2, most / models);
  return std::max<int64_t>(1, (wanted + kOverflowBlock - 1) / kOverflowBlock) * kOverflowBlock;
}

int64_t label_order_capacity(int64_t rows, int64_t columns, int limbs, int64_t max_clusters, int64_t models) {
  constexpr int64_t kMinValues = int64_t{1} << 23;  // of all models: about 0.1 ms of atomic operations
  constexpr int64_t kMaxRows = int64_t{1} << 24;    // of all models, in one slice
  const int64_t bytes = 8 * max_clusters * (limbs * columns + 2);
  if (limbs > kMaxLabelOrderLimbs || columns > kMaxLabelOrderColumns || bytes <= kMaxSharedSums) return 0;
  if (rows * columns * models < kMinValues) return 0;
  const int64_t slice = std::max<int64_t>(kMaxRows / models, 1);
  return 2 * models * padded(std::min(rows, slice), kLabelOrderRows);
}

ExactStage::ExactStage(const SessionShape& shape, const Sums& sums)
    : sums_(sums), models_(shape.k.size()), mark_stride_(shape.slice_stride() / 32) {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
  overflow_.capacity = static_cast<uint32_t>(cuda::overflow_capacity(shape.slice_rows, shape.models()));
  overflow_.rows = overflow_rows_.data();
  overflow_.counts = numbers_.data() + kNumbers;
  overflow_.values = overflow_values_.data();
  overflow_.found = overflow_found_.data();
  overflow_.prototypes = overflow_prototypes_.data();
}

void ExactStage::lay_out(const SessionShape& shape, DeviceRoom& room) {
  const int64_t models = shape.models();
  room.hold(marks_, models * shape.slice_stride() / 32, "marks of rows");
  room.hold(numbers_, static_cast<int64_t>(kNumbers) + 3 * models, "numbers of rows");
  const int64_t overflow = models * cuda::overflow_capacity(shape.slice_rows, models);
  room.hold(overflow_rows_, overflow, "the overflow rows");
  if (shape.tensor_cores()) {
    room.hold(few_, few_capacity(shape.slice_rows, models), "the list of rows");
    if (gathers_candidates(shape.max_clusters(), shape.d)) {
      room.hold(overflow_values_, overflow * shape.padded_columns, "the overflow rows");
      room.hold(overflow_found_, overflow, "the overflow rows");
      room.hold(overflow_prototypes_, overflow * kMaxGathered, "the overflow rows' candidates");
    }
  }
  // Rows of small models get all distances at once, see kDirectValues.
  if (gathers_candidates(shape.max_clusters(), shape.d)) {
    room.hold(split_, kMaxSplit, "rows that get all distances");
    room.hold(nearest_, kMaxSplit * kSplitSlices, "rows that get all distances");
  }
  const int64_t entries = label_order_capacity(shape.slice_rows, shape.d, shape.limbs, shape.max_clusters(), models);
  if (entries == 0) return;
  const int64_t clusters = shape.padded_clusters(shape.column_multiple);
  room.hold(entries_, entries, "the rows that changed");
  room.hold(first_entries_, clusters + 1, "the rows that changed");
  room.hold(next_entries_, clusters, "the rows that changed");
}

ScreenOutput ExactStage::output(const LabelRows& labels) {
  ScreenOutput output;
  output.labels = labels;
  output.few = few_.data();
  output.few_count = numbers_.data() + kFew;
  output.few_capacity = static_cast<uint32_t>(few_.size());
  output.marks = marks_.data();
  output.mark_stride = mark_stride_;
  output.marked = numbers_.data() + kMarked;
  output.overflow = overflow_;
  return output;
}

void ExactStage::clear_marks(size_t models, const Stream& stream) {
  fill_zero(marks_.data(), models * static_cast<size_t>(mark_stride_), stream, "clearing marks");
}

ResolveTask ExactStage::resolve_task(const PassWork& pass, const PointSlice& slice) {
  ResolveTask task;
  task.points = slice.points;
  task.ranges = pass.ranges;
  task.next = pass.next;
  task.marks = marks_.data();
  task.mark_stride = mark_stride_;
  task.overflow = overflow_;
  task.split = split_.data();
  task.split_count = numbers_.data() + kSplit;
  task.nearest = nearest_.data();
  return task;
}

ResolveTask ExactStage::list_task(const PassWork& pass, const PointSlice& slice, bool gathered) {
  ResolveTask task = resolve_task(pass, slice);
  task.marked = numbers_.data() + kMarked;
  task.few = few_.data();
  task.few_count = numbers_.data() + kFew;
  task.few_capacity = static_cast<uint32_t>(few_.size());
  task.far = far_from_matrix();
  task.gathered = gathered;
  return task;
}

void ExactStage::resolve_marks(const PassWork& pass, const PointSlice& slice, const Stream& stream) {
  ResolveTask task = resolve_task(pass, slice);
  const bool direct = pass.ranges.max_clusters * slice.points.d <= kDirectValues;
  if (direct && slice.points.n < (int64_t{1} << 31)) {
    task.marked = numbers_.data() + kMarked;
    overflow_marked(task, stream);
    cuda::resolve_few(task, sums_.multiprocessors, stream);
  }
  cuda::resolve_all(task, sums_.multiprocessors, stream);
}

void ExactStage::resolve_few(const PassWork& pass, const PointSlice& slice, bool gathered, const Stream& stream) {
  cuda::resolve_few(list_task(pass, slice, gathered), sums_.multiprocessors, stream);
}

void ExactStage::resolve_all(const PassWork& pass, const PointSlice& slice, bool gathered, const Stream& stream) {
  cuda::resolve_all(list_task(pass, slice, gathered), sums_.multiprocessors, stream);
}

AccumulateTask ExactStage::accumulate_task(const PassWork& pass, const DevicePoints& points) {
  LabelRows current = pass.current;
  current.base = label_at(current, 0, points.first);
  LabelOrder order;
  order.entries = entries_.data();
  order.capacity = static_cast<int64_t>(entries_.size());
  order.first = first_entries_.data();
  order.next = next_entries_.data();
  return {points, sums_.terms, sums_.weight_shift, pass.ranges, pass.next, current, order};
}

void ExactStage::accumulate(const PassWork& pass, const PointSlice& slice, const Stream& stream) {
  cuda::accumulate(accumulate_task(pass, slice.points), sums_.multiprocessors, stream);
}

void AllDistances::enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) {
  mark_all(exact_.marks(), exact_.mark_stride(), pass.ranges.count, slice.points.n, stream);
  exact_.resolve_marks(pass, slice, stream);
  exact_.accumulate(pass, slice, stream);
}

}  // namespace manymeans::cuda
