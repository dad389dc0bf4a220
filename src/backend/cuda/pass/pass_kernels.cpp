#include "backend/cuda/pass/pass_kernels.h"

#include "backend/cuda/device/model_range.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/join_statistics.h"
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/exact/solve.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/runtime/endless_kernel.h"

#include <algorithm>
#include <utility>

namespace manymeans::cuda {

CudaPassKernels::CudaPassKernels(const CudaShared& shared, const device::SessionMemory& memory,
                                 std::span<const int64_t> k)
    : CudaPassKernels(shared, memory, session_shape(shared.input, k, shared.plan)) {}

CudaPassKernels::CudaPassKernels(const CudaShared& shared, const device::SessionMemory& memory,
                                 const SessionShape& shape)
    : shared_(shared),
      memory_(memory),
      stream_(stream_of(memory.queue())),
      next_stride_(shape.slice_stride()),
      arrays_(shape),
      host_ranges_(shape.k.size(), "the models") {
  SessionScreen made = make_screen(shared, shape, stream_);
  screen_ = std::move(made.screen);
  persistent_ = std::move(made.persistent);
}

LabelRows CudaPassKernels::current_rows() const {
  return {pointer_to(memory_.labels(0)), memory_.label_stride(), memory_.label_width()};
}

PassWork CudaPassKernels::work() {
  const LabelRows next{arrays_.next.data(), next_stride_, memory_.label_width()};
  return {ranges_, current_rows(), next, pointer_to(memory_.model(0, 0).prototypes)};
}

void CudaPassKernels::begin(const device::PassBatch& batch) {
  const int64_t group = float_column_multiple(shared_.input.points.d);
  ranges_ = send_ranges(batch, memory_, group, host_ranges_.data(), arrays_.ranges.data());
  screen_->begin_batch(batch.models, stream_);
  const std::span<uint32_t> numbers = screen_->numbers();
  fill_zero(numbers.data(), numbers.size(), stream_, "clearing numbers of rows");
  ranges_.numbers = numbers.data();
  ranges_.number_count = static_cast<int32_t>(numbers.size());
  hang_if_asked("pass", stream_);
}

// In one kernel, where the problem is small enough.
bool CudaPassKernels::run_batch(const device::PassBatch& batch) {
  if (!persistent_) return false;
  const PointSlice all = shared_.slices->for_screens(shared_.slices->rows().all(), stream_);
  if (!persistent_->enqueue(work(), all, batch.limits.passes, stream_)) return false;
  screen_->forget_passes();
  return true;
}

// Small problems get many passes, because they take as long as a question. Large ones get a few, so that the device
// does not wait for launches.
int CudaPassKernels::passes_between_questions(const device::PassBatch& batch) const {
  const PointsView& points = shared_.input.points;
  if (!shared_.slices->rows().whole()) return 1;  // each waits for the points anyway
  constexpr double kWork = 2e10;                  // products; about 0.1 ms
  double work = 1;
  for (const device::ModelMemory& model : batch.models) {
    work += static_cast<double>(model.k) * static_cast<double>(points.n) * static_cast<double>(points.d + 8);
  }
  if (shared_.boxes) work /= static_cast<double>(kBoxRows) / 8;
  return static_cast<int>(std::clamp(kWork / work, 2.0, 8.0));
}

void CudaPassKernels::pass(const device::PassBatch& batch, const device::Rows& rows, bool first) {
  ranges_.counters = pointer_to<PassCounters>(batch.counters);
  if (first) {
    screen_->begin_pass();
  } else {
    fill_zero(ranges_.numbers, static_cast<size_t>(ranges_.number_count), stream_, "clearing numbers of rows");
  }
  screen_->enqueue(work(), shared_.slices->for_screens(rows, stream_), stream_);
}

void CudaPassKernels::begin_joined(const device::PassBatch& batch) {
  host_joined_.reserve(batch.models.size(), "the models");
  joined_.reserve(batch.models.size(), "the models");
  const int64_t group = float_column_multiple(shared_.input.points.d);
  joined_ranges_ = send_ranges(batch, memory_, group, host_joined_.data(), joined_.data());
  joined_ranges_.numbers = ranges_.numbers;
  joined_ranges_.number_count = ranges_.number_count;
}

void CudaPassKernels::join(const Joining& joining) {
  join_statistics(joining, shared_.device.multiprocessors, stream_);
}

// With the counters of the pass at hand.
PassRanges CudaPassKernels::ranges_of(const device::PassBatch& batch) const {
  return batch.joined ? joined_ranges_ : ranges_;
}

void CudaPassKernels::end_pass(const device::PassBatch& batch) {
  screen_->end_pass();
  cuda::end_pass(ranges_of(batch), shared_.device.multiprocessors, stream_);
}

void CudaPassKernels::update(const device::PassBatch& batch) {
  const PassRanges ranges = ranges_of(batch);
  cuda::solve({ranges, shared_.input.points.d, shared_.terms.limbs, shared_.terms.bits, shared_.sums.solve_shifts()},
              stream_);
  if (batch.limits.shifts.any()) judge_update(ranges, stream_);
}

device::Address CudaPassKernels::labels_in_order(int slot) {
  return address_of(screen_->labels_of(slot, current_rows(), arrays_.next.data(), stream_));
}

void CudaPassKernels::move_row(const device::ModelMemory& model, const RowMove& move) {
  const PassRange range = range_of(model);
  AccumulateTask task;
  task.points = points_of(shared_.input, move.row);
  task.terms = shared_.terms;
  task.weight_shift = shared_.input.weight_shift;
  accumulate_row(task, range, move.from, -1, stream_);
  accumulate_row(task, range, move.to, 1, stream_);
  screen_->set_label(model.slot, move.row.first, move.to, current_rows(), stream_);
}

void CudaPassKernels::renumber(int slot, device::Address table) {
  renumber_rows(current_rows(), slot, shared_.input.points.n, pointer_to<uint32_t>(table), stream_);
  screen_->forget(slot, stream_);
}

}  // namespace manymeans::cuda
