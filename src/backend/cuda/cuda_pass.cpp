// Batches of passes: screen, resolve, accumulate and, between two passes, solve; all queued without waiting.
#include "backend/cuda/cuda_session.h"
#include "backend/cuda/resolve.h"
#include "backend/cuda/solve.h"

#include <algorithm>

namespace manymeans::cuda {
namespace {

constexpr int kMostPasses = 16;  // of one batch: the host wants a word now and then

}  // namespace

AccumulateTask CudaSession::accumulate_task(const PassRanges& ranges) {
  return {shared_.points, shared_.terms, shared_.input.weight_shift, ranges, rows_of(next_), rows_of(current_)};
}

// Everything that the passes of a batch read.
PassRanges CudaSession::begin_batch(std::span<const PassModel> models, int n) {
  const size_t count = models.size();
  const int64_t group = d() <= kLowColumns ? kLowGroup : kTileGroup;
  PassRanges ranges;
  int64_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    const int slot = models[i].slot;
    Model& m = model(slot);
    m.labels_here = m.statistics_here = false;
    upload_prototypes(slot, *models[i].prototypes);
    PassRange& range = host_ranges_[i] = range_of(slot);
    range.first = first;
    first += (m.k + group - 1) / group * group;
    ranges.most_clusters = std::max(ranges.most_clusters, m.k);
    if (m.labelled) continue;
    fill_zero(range.sums, static_cast<size_t>(m.k * d() * shared_.terms.limbs), stream_, "clearing sums");
    fill_zero(range.weights, static_cast<size_t>(m.k), stream_, "clearing weights");
    fill_zero(range.counts, static_cast<size_t>(m.k), stream_, "clearing counts");
  }
  const size_t all = count * static_cast<size_t>(n);
  counters_.reserve(all, "counters of passes");
  host_counters_.reserve(all, "counters of passes");
  copy_to_device(ranges_.data(), host_ranges_.data(), count, stream_, "the models");
  fill_zero(counters_.data(), all, stream_, "clearing counters");
  fill_zero(control_.data(), 1, stream_, "clearing the state of a pass");
  ranges.at = ranges_.data();
  ranges.count = static_cast<int32_t>(count);
  ranges.float64 = shared_.points.type == DataType::kFloat64;
  ranges.counters = counters_.data();
  ranges.control = control_.data();
  return ranges;
}

void CudaSession::enqueue_pass(const PassRanges& ranges) {
  if (shared_.plan.screen == ScreenKind::kNone) {
    mark_all(marks_.data(), mark_stride_, ranges.count, n(), stream_);
  } else {
    FloatScreenTask task;
    task.points = shared_.points;
    task.frame = shared_.device_frame;
    task.bound = shared_.bound;
    task.norms = shared_.norms.data();
    task.ranges = ranges;
    task.next = rows_of(next_);
    task.marks = marks_.data();
    task.mark_stride = mark_stride_;
    task.columns = float_columns();
    float_pack(task, stream_);
    float_screen(task, shared_.device.multiprocessors, stream_);
  }
  ResolveTask task;
  task.points = shared_.points;
  task.ranges = ranges;
  task.next = rows_of(next_);
  task.marks = marks_.data();
  task.mark_stride = mark_stride_;
  resolve(task, shared_.device.multiprocessors, stream_);
  accumulate(accumulate_task(ranges), shared_.device.multiprocessors, stream_);
}

FloatColumns CudaSession::float_columns() {
  FloatColumns columns;
  columns.far = far_.data();
  if (d() <= kLowColumns) {
    columns.starts = columns_.data();
    columns.slopes = columns.starts + 1;
    columns.values = columns.starts + 2;
    columns.stride = columns.value_stride = low_column_floats(d());
    return columns;
  }
  const auto count = static_cast<int64_t>(columns_.size()) / (d() + 3);
  columns.starts = columns_.data();
  columns.slopes = columns.starts + count;
  columns.errors = columns.slopes + count;
  columns.values = columns.errors + count;
  columns.stride = 1;
  columns.value_stride = d();
  return columns;
}

void CudaSession::enqueue_solve(const PassRanges& ranges) {
  solve({ranges, d(), shared_.terms.limbs, shared_.terms.bits, shared_.solve_shifts.data()}, stream_);
}

// Waits, and tells the models what happened; returns the passes done.
int CudaSession::end_batch(std::span<PassModel> models, int n) {
  const size_t count = models.size();
  copy_to_host(host_counters_.data(), counters_.data(), count * static_cast<size_t>(n), stream_, "counters of passes");
  copy_to_host(host_control_.data(), control_.data(), 1, stream_, "the state of a pass");
  stream_.synchronize("a pass");
  const auto done = static_cast<int>(host_control_[0].passes);
  for (size_t i = 0; i < count; ++i) {
    PassModel& pass = models[i];
    Model& m = model(pass.slot);
    pass.earlier.clear();
    for (int p = 0; p < done; ++p) {
      const PassCounters& found = host_counters_[static_cast<size_t>(p) * count + i];
      PassResult result;
      result.changed = static_cast<int64_t>(found.changed);
      result.hash_delta = static_cast<LabelSum>(found.hash_high) << 64 | found.hash_low;
      result.resolved = static_cast<int64_t>(found.resolved);
      result.candidates = static_cast<int64_t>(found.candidates);
      result.certified = this->n() - result.resolved;
      if (p + 1 < done) pass.earlier.push_back(result);
      pass.result = result;
    }
    m.labelled = true;
    if (done > 1) download_prototypes(pass.slot, pass.moved);
  }
  return done;
}

int CudaSession::advance(std::span<PassModel> models, int n) {
  use_device(shared_.device);
  const int passes = std::clamp(n, 1, kMostPasses);
  PassRanges ranges = begin_batch(models, passes);
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) enqueue_solve(ranges);
    ranges.counters = counters_.data() + static_cast<size_t>(pass) * models.size();
    enqueue_pass(ranges);
  }
  return end_batch(models, passes);
}

}  // namespace manymeans::cuda
