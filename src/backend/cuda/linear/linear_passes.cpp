#include "backend/cuda/linear/linear_passes.h"

#include "backend/cuda/device/model_range.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/exact/solve.h"
#include "backend/cuda/points/point_slices.h"
#include "backend/cuda/runtime/endless_kernel.h"

namespace manymeans::cuda {

LinearPassKernels::LinearPassKernels(const LinearShared& shared, const device::SessionMemory& memory,
                                     std::span<const int64_t> k)
    : shared_(shared),
      memory_(memory),
      stream_(stream_of(memory.queue())),
      arrays_(LinearArrays::Shape{shared.input, shared.plan, k}),
      host_ranges_(k.size(), "the models") {}

LabelRows LinearPassKernels::current_rows() const {
  return {pointer_to(memory_.labels(0)), memory_.label_stride(), memory_.label_width()};
}

void LinearPassKernels::begin(const device::PassBatch& batch) {
  ranges_ = send_ranges(batch, memory_, 1, host_ranges_.data(), arrays_.ranges.data());
  hang_if_asked("pass", stream_);
}

ProductTask LinearPassKernels::task_of(const device::Rows& rows) const {
  ProductTask task;
  task.formats = shared_.formats;
  task.rests = shared_.rests;
  task.rows.points = points_of(shared_.input, rows);
  task.rows.weight_shift = shared_.input.weight_shift;
  return task;
}

void LinearPassKernels::pass(const device::PassBatch& batch, const device::Rows& rows, bool) {
  ranges_.counters = pointer_to<PassCounters>(batch.counters);
  ProductTask task = task_of(rows);
  task.rows.ranges = ranges_;
  task.rows.next = {arrays_.next.data(), label_stride_of_slice(shared_.input, shared_.plan), memory_.label_width()};
  task.rows.current = current_rows();
  task.rows.current.base = label_at(current_rows(), 0, rows.first);
  task.rows.order = {arrays_.entries.data(), static_cast<int64_t>(arrays_.entries.size()), arrays_.first_entries.data(),
                     arrays_.next_entries.data()};
  label_by_residuals(task.rows.points, ranges_, task.rows.next, stream_);
  accumulate_products(task, shared_.device.multiprocessors, stream_);
}

void LinearPassKernels::end_pass(const device::PassBatch&) {
  cuda::end_pass(ranges_, shared_.device.multiprocessors, stream_);
}

// A few, so that the device does not wait for launches.
int LinearPassKernels::passes_between_questions(const device::PassBatch&) const {
  return shared_.plan.whole(shared_.input.points.n) ? 4 : 1;
}

void LinearPassKernels::update(const device::PassBatch& batch) {
  ModelSolveTask task;
  task.ranges = ranges_;
  task.d = static_cast<int32_t>(shared_.input.points.d);
  task.weight_shift = shared_.input.weight_shift;
  task.linear = shared_.input.linear;
  task.words = shared_.plan.solve;
  task.formats = shared_.sum_formats();
  solve_models(task, stream_);
  if (batch.limits.shifts.any()) judge_update(ranges_, stream_);
}

void LinearPassKernels::move_row(const device::ModelMemory& model, const RowMove& move) {
  const PassRange range = range_of(model);
  const ProductTask task = task_of(move.row);
  accumulate_products_of_row(task, range, move.from, -1, stream_);
  accumulate_products_of_row(task, range, move.to, 1, stream_);
  const LabelRows labels = current_rows();
  copy_to_device(label_at(labels, model.slot, move.row.first), reinterpret_cast<const std::byte*>(&move.to),
                 static_cast<size_t>(labels.width), stream_, "a label");
}

void LinearPassKernels::renumber(int slot, device::Address table) {
  renumber_rows(current_rows(), slot, shared_.input.points.n, pointer_to<uint32_t>(table), stream_);
}

}  // namespace manymeans::cuda
