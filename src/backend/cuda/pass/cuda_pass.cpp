// Batches of passes: screen, resolve, accumulate and, between two passes, solve; all queued without waiting.
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/exact/solve.h"
#include "backend/cuda/pass/cuda_session.h"
#include "backend/cuda/persistent/persistent_passes.h"
#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/cuda/tensor/matrix_bounds.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "backend/cuda/tensor/score_falls.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace manymeans::cuda {
namespace {

constexpr int kMostPasses = 64;  // of one batch
// The engine looks at signals between batches. How many passes a batch has changes no answer.
constexpr std::chrono::milliseconds kLongestBatch{700};

// Covers the underflow of squares in binary64; never a denormal number.
float half_underflow(int64_t d, int exponent) {
  return static_cast<float>(std::max(std::ldexp(static_cast<double>(d), 2 * std::min(exponent, 600) - 1073), 0x1p-100));
}

}  // namespace

AccumulateTask CudaSession::accumulate_task(const PassRanges& ranges, const DevicePoints& points) {
  LabelOrder order;
  order.entries = entries_.data();
  order.capacity = static_cast<int64_t>(entries_.size());
  order.first = first_entries_.data();
  order.next = next_entries_.data();
  return {points, shared_.terms, shared_.input.weight_shift, ranges, next_rows(), current_rows(points.first), order};
}

// Everything that the passes of a batch read.
PassRanges CudaSession::begin_batch(std::span<const PassModel> models, int n) {
  const size_t count = models.size();
  const int64_t group = d() <= kLowColumns ? kLowGroup : kTileGroup;
  PassRanges ranges;
  int64_t first = 0;
  batch_columns_ = 0;
  floors_known_ = shared_.plan.floors && !margins_known_;  // rows that were kept have old ones
  for (size_t i = 0; i < count; ++i) {
    const int slot = models[i].slot;
    Model& m = model(slot);
    floors_known_ = floors_known_ && m.labelled;
    if (!m.labelled) m.changed = this->n();
    m.labels_here = m.statistics_here = false;
    upload_prototypes(slot, *models[i].prototypes);
    PassRange& range = host_ranges_[i] = range_of(slot);
    range.first = first;
    first += (m.k + group - 1) / group * group;
    ranges.most_clusters = std::max(ranges.most_clusters, m.k);
    if (shared_.plan.screen == ScreenKind::kMatrix) {
      ColumnRange& columns = host_column_ranges_[i] = ColumnRange{};
      columns.slot = slot;
      columns.first = batch_columns_;
      columns.count = static_cast<int32_t>((m.k + tile_columns_ - 1) / tile_columns_ * tile_columns_);
      columns.slack = static_cast<float>(matrix_slack(d()) * shared_.options.test_bound_scale * (1 + 0x1p-20));
      columns.underflow = half_underflow(d(), shared_.half_frame.exponent);
      batch_columns_ += columns.count;
    }
    if (m.labelled) continue;
    fill_zero(range.sums, static_cast<size_t>(m.k * d() * shared_.terms.limbs), stream_, "clearing sums");
    fill_zero(range.weights, static_cast<size_t>(m.k), stream_, "clearing weights");
    fill_zero(range.counts, static_cast<size_t>(m.k), stream_, "clearing counts");
  }
  ranges.clusters = first;
  weigh_floors(models);
  const size_t all = count * static_cast<size_t>(n);
  counters_.reserve(all, "counters of passes");
  host_counters_.reserve(all, "counters of passes");
  fetched_passes_ = 0;
  copy_to_device(ranges_.data(), host_ranges_.data(), count, stream_, "the models");
  if (shared_.plan.screen == ScreenKind::kMatrix) {
    copy_to_device(column_ranges_.data(), host_column_ranges_.data(), count, stream_, "the models' columns");
    fill_zero(marks_.data(), count * static_cast<size_t>(mark_stride_), stream_, "clearing marks");
  }
  fill_zero(counters_.data(), all, stream_, "clearing counters");
  fill_zero(control_.data(), 1, stream_, "clearing the state of a pass");
  fill_zero(numbers_.data(), numbers_.size(), stream_, "clearing numbers of rows");
  ranges.at = ranges_.data();
  ranges.count = static_cast<int32_t>(count);
  ranges.float64 = float64();
  ranges.counters = counters_.data();
  ranges.control = control_.data();
  ranges.numbers = numbers_.data();
  ranges.number_count = static_cast<int32_t>(numbers_.size());
  return ranges;
}

ResolveTask CudaSession::resolve_task(const PassRanges& ranges, const PointSlice& slice) {
  ResolveTask task;
  task.points = slice.points;
  task.ranges = ranges;
  task.next = next_rows();
  task.marks = marks_.data();
  task.mark_stride = mark_stride_;
  task.open = open_;
  task.left = left_.data();
  task.left_count = numbers_.data() + kLeft;
  task.nearest = nearest_.data();
  if (shared_.plan.screen == ScreenKind::kMatrix) {
    task.marked = numbers_.data() + kMarked;
    task.list = list_.data();
    task.listed = numbers_.data() + kListed;
    task.capacity = static_cast<uint32_t>(list_.size());
    task.far = far_from_matrix();
  }
  return task;
}

void CudaSession::enqueue_pass(const PassRanges& ranges) {
  if (boxed()) {
    box_pass(box_task(ranges), shared_.device.multiprocessors, stream_);
    return end_pass(ranges, shared_.device.multiprocessors, stream_);
  }
  bool first = true;
  shared_.slices->for_each(stream_, PointSlices::Use::kScreen, [&](const PointSlice& slice) {
    if (!first) fill_zero(numbers_.data(), numbers_.size(), stream_, "clearing numbers of rows");
    first = false;
    enqueue_slice(ranges, slice);
  });
  floors_known_ = shared_.plan.floors && !carries();
  end_pass(ranges, shared_.device.multiprocessors, stream_);
}

void CudaSession::enqueue_slice(const PassRanges& ranges, const PointSlice& slice) {
  const int processors = shared_.device.multiprocessors;
  ResolveTask task = resolve_task(ranges, slice);
  const bool direct = ranges.most_clusters * d() <= kDirectValues && slice.points.n < (int64_t{1} << 31);
  if (shared_.plan.screen == ScreenKind::kMatrix) {
    enqueue_matrix_screen(ranges, slice);
    task.collected = collects(shared_.plan, ranges.most_clusters, d());
    if (task.collected) enqueue_collect(ranges, slice);
    resolve_few(task, processors, stream_);
    if (task.collected) enqueue_second_screen(ranges, slice);
  } else {
    if (shared_.plan.screen == ScreenKind::kNone) {
      mark_all(marks_.data(), mark_stride_, ranges.count, slice.points.n, stream_);
    } else {
      enqueue_float_screen(ranges, slice);
    }
    if (direct) {
      task.marked = numbers_.data() + kMarked;
      open_marked(task, stream_);
      resolve_few(task, processors, stream_);
    }
  }
  resolve_marked(task, processors, stream_);
  accumulate(accumulate_task(ranges, slice.points), processors, stream_);
}

FloatScreenTask CudaSession::float_task(const PassRanges& ranges, const PointSlice& slice) {
  FloatScreenTask task;
  task.points = slice.points;
  task.frame = shared_.device_frame;
  task.bound = shared_.bound;
  task.norms = slice.norms;
  task.ranges = ranges;
  task.next = next_rows();
  task.marks = marks_.data();
  task.mark_stride = mark_stride_;
  task.columns = float_columns();
  return task;
}

void CudaSession::enqueue_float_screen(const PassRanges& ranges, const PointSlice& slice) {
  const FloatScreenTask task = float_task(ranges, slice);
  float_pack(task, stream_);
  float_screen(task, shared_.device.multiprocessors, stream_);
}

// Rows with more candidates than were kept are looked at in float32.
void CudaSession::enqueue_second_screen(const PassRanges& ranges, const PointSlice& slice) {
  if (columns_.empty()) return;
  FloatScreenTask task = float_task(ranges, slice);
  task.wanted = numbers_.data() + kMarked;
  MarkedRows marked;
  marked.rows = marked_rows_.data();
  marked.counts = marked_counts_.data();
  marked.capacity = static_cast<int64_t>(marked_rows_.size()) / ranges.count;
  marked.top = slice_tops_.data();
  const auto most = static_cast<int64_t>(slice_tops_.size() / marked_rows_.size());
  marked.slices = static_cast<int32_t>(std::clamp<int64_t>(ranges.most_clusters / (4 * kTileGroup), 1, most));
  float_pack(task, stream_);
  float_screen_marked(task, marked, shared_.device.multiprocessors, stream_);
}

PackedColumns CudaSession::packed_columns(const PassRanges& ranges) {
  const size_t count = order_.size();
  PackedColumns columns;
  columns.unit = shared_.plan.matrix_unit;
  columns.values = halves_.data();
  columns.offsets = bounds_.data();
  columns.slopes = bounds_.data() + count;
  columns.errors = bounds_.data() + 2 * count;
  columns.order = order_.data();
  columns.column_of = shared_.plan.floors ? column_of_.data() : nullptr;
  columns.by_number = !shared_.plan.floors;
  columns.columns = batch_columns_;
  columns.ranges = column_ranges_.data();
  columns.models = ranges.count;
  columns.tile_columns = tile_columns_;
  columns.terms = tile_terms_.data();
  columns.stopped = &control_.data()->stopped;
  return columns;
}

MatrixPackTask CudaSession::matrix_pack_task(const PassRanges& ranges) {
  MatrixPackTask task;
  task.ranges = ranges;
  task.d = d();
  task.frame = shared_.half_frame;
  task.bound_scale = shared_.options.test_bound_scale;
  task.padded_columns = shared_.plan.padded_columns;
  task.far = far_from_matrix();
  task.columns = packed_columns(ranges);
  if (!shared_.plan.floors) return task;
  task.sort = {sort_keys_.data(), sort_keys_.data() + order_.size(), sorted_prototypes_.data(), sort_scratch_.data(),
               sort_scratch_.size()};
  task.moves = {prototypes_.data(), prototypes_before_.data(), moves_.data()};
  return task;
}

ScreenOutput CudaSession::matrix_output() {
  ScreenOutput output;
  output.labels = next_rows();
  output.list = list_.data();
  output.listed = numbers_.data() + kListed;
  output.capacity = static_cast<uint32_t>(list_.size());
  output.marks = marks_.data();
  output.mark_stride = mark_stride_;
  output.marked = numbers_.data() + kMarked;
  output.open = open_;
  if (!shared_.plan.floors) return output;
  const bool known = floors_known_ && floors_pay_ && !carries();
  output.floors = {lowers_.data(), stride_, current_rows(0), moves_.data(), known ? falls_.data() : nullptr};
  return output;
}

void CudaSession::enqueue_matrix_screen(const PassRanges& ranges, const PointSlice& slice) {
  const MatrixPackTask task = matrix_pack_task(ranges);
  const ScreenOutput output = matrix_output();
  pack_matrix_columns(task, stream_);
  if (carries()) return enqueue_screen_of_rows_left(ranges, slice.packed, task.columns, output);
  if (output.floors.falls != nullptr) {
    FallsTask falls{slice.packed, task.columns, output.floors};
    falls.sample = sampled_falls_.data();
    falls.failing = failing_rows(slice.points.n, ranges.most_clusters, open_.capacity);
    guess_falls(falls, stream_);
  }
  matrix_screen(slice.packed, task.columns, output, stream_);
}

void CudaSession::enqueue_collect(const PassRanges& ranges, const PointSlice& slice) {
  matrix_collect(slice.packed, packed_columns(ranges), matrix_output(), stream_);
}

FloatColumns CudaSession::float_columns() {
  FloatColumns columns;
  columns.far = far_from_float();
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

// Whether the passes to come are to use floors.
void CudaSession::weigh_floors(std::span<const PassModel> models) {
  int64_t changed = 0;
  int64_t most = 1;
  for (const PassModel& pass : models) {
    changed += model(pass.slot).changed;
    most = std::max(most, model(pass.slot).k);
  }
  const bool pay = floors_pay(changed, n() * static_cast<int64_t>(models.size()), most, d());
  floors_pay_ = shared_.options.floors.value_or(pay);
}

// Those of the batch's passes that are done and were not fetched before.
void CudaSession::fetch_counters(size_t models) {
  const size_t done = host_control_[0].passes;
  if (done <= fetched_passes_) return;
  const size_t first = fetched_passes_ * models;
  copy_to_host(host_counters_, first, counters_.data() + first, done * models - first, stream_, "counters of passes");
  stream_.synchronize("fetching counters");
  fetched_passes_ = done;
}

// What the batch's passes so far say about the next ones.
void CudaSession::learn_from_passes(std::span<const PassModel> models) {
  if (!shared_.plan.floors && margins_.empty()) return;
  const size_t count = models.size();
  const size_t first = fetched_passes_;
  fetch_counters(count);
  for (size_t pass = first; pass < fetched_passes_; ++pass) {
    const PassCounters* found = host_counters_.data() + pass * count;
    for (size_t i = 0; i < count; ++i) model(models[i].slot).changed = static_cast<int64_t>(found[i].changed);
    if (!margins_.empty()) learn_of_margins(pass);
  }
  weigh_floors(models);
}

// Tells the models what happened; returns the passes done.
int CudaSession::end_batch(std::span<PassModel> models) {
  const size_t count = models.size();
  const auto done = static_cast<int>(host_control_[0].passes);
  fetch_counters(count);
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
      result.skipped = static_cast<int64_t>(found.kept);
      result.certified = this->n() - result.resolved - result.skipped;
      if (p + 1 < done) pass.earlier.push_back(result);
      pass.result = result;
    }
    m.labelled = true;
    m.changed = pass.result.changed;
    if (done > 1) download_prototypes(pass.slot, pass.last_prototypes);
  }
  return done;
}

// All passes of a batch in one kernel, where the problem is small enough; whether it is.
bool CudaSession::enqueue_resident_passes(const PassRanges& ranges, int most) {
  const bool in_fp16 = shared_.plan.screen == ScreenKind::kMatrix && !boxed();
  if (!in_fp16 || !shared_.slices->whole() || shared_.options.queued_passes) return false;
  if (shared_.plan.bounds == BoundsUse::kAlways) return false;
  ResidentTask task;
  task.shape = resident_shape(n(), shared_.plan.padded_columns, ranges.most_clusters, ranges.count, shared_.terms.limbs,
                              ResidentDevice::of(shared_.device.index));
  if (task.shape.blocks == 0) return false;
  task.columns = matrix_pack_task(ranges);
  task.solve_shifts = shared_.solve_shifts.data();
  task.passes = most;
  bool begun = false;
  shared_.slices->for_each(stream_, PointSlices::Use::kScreen, [&](const PointSlice& all) {
    task.sums = accumulate_task(ranges, all.points);
    task.points = all.packed;
    begun = resident_passes(task, stream_);
  });
  return begun;
}

// How many passes are queued before the device is asked how they went: many of small problems, whose time is that of a
// question; a few of large ones, so that the device does not wait for launches.
int CudaSession::passes_between_questions(std::span<const PassModel> models) const {
  if (!shared_.slices->whole()) return 1;  // each waits for the points anyway
  constexpr double kWork = 2e10;           // products; about 0.1 ms
  double work = 1;
  for (const PassModel& pass : models) {
    work += static_cast<double>(pass.prototypes->rows()) * static_cast<double>(n()) * static_cast<double>(d() + 8);
  }
  if (boxed()) work /= static_cast<double>(kBoxRows) / 8;
  return static_cast<int>(std::clamp(kWork / work, 2.0, 8.0));
}

// Passes from..to of a batch; returns `to`.
int CudaSession::enqueue_passes(PassRanges& ranges, int from, int to, size_t models) {
  const HandingOver handing_over(stream_.patience(), to - from);
  for (int pass = from; pass < to; ++pass) {
    if (pass > 0) enqueue_solve(ranges);
    ranges.counters = counters_.data() + static_cast<size_t>(pass) * models;
    pass_had_margins_.push_back(carries() && margins_known_ ? 1 : 0);
    enqueue_pass(ranges);
    margins_known_ = carries();
  }
  return to;
}

int CudaSession::advance(std::span<PassModel> models, int n) {
  use_device(shared_.device);
  const int together = passes_between_questions(models);
  const int most = std::clamp(n, 1, kMostPasses);
  const auto begin = std::chrono::steady_clock::now();
  const Settled settled(stream_);  // the device reads the callers' prototypes
  PassRanges ranges;
  bool resident = false;
  {
    const HandingOver handing_over(stream_.patience(), most);
    ranges = begin_batch(models, most);
    hang_if_asked("pass", stream_);
    resident = enqueue_resident_passes(ranges, most);
  }
  if (resident) {
    copy_to_host(host_control_, 0, control_.data(), 1, stream_, "the state of a pass");
    stream_.synchronize("a batch of passes", most);
    forget_margins();
    return end_batch(models);
  }
  int queued = 0;
  pass_had_margins_.clear();
  do {
    queued = enqueue_passes(ranges, queued, std::min(most, queued + together), models.size());
    copy_to_host(host_control_, 0, control_.data(), 1, stream_, "the state of a pass");
    stream_.synchronize("a pass", together);
    learn_from_passes(models);
  } while (queued < most && host_control_[0].stopped == 0 && std::chrono::steady_clock::now() - begin < kLongestBatch);
  return end_batch(models);
}

}  // namespace manymeans::cuda
