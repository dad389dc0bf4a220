// Batches of passes: screen, resolve, accumulate and, between two passes, solve; all queued without waiting.
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/solve.h"
#include "backend/cuda/float32/float_stage.h"
#include "backend/cuda/pass/cuda_session.h"
#include "backend/cuda/runtime/endless_kernel.h"

#include <algorithm>
#include <chrono>

namespace manymeans::cuda {
namespace {

constexpr int kMostPasses = 64;  // of one batch
// The engine looks at signals between batches. How many passes a batch has changes no answer.
constexpr std::chrono::milliseconds kLongestBatch{700};

}  // namespace

// Prototypes, statistics and labels of the batch's models, and where they stand.
PassRanges CudaSession::enqueue_ranges(std::span<const PassModel> models) {
  PassRanges ranges;
  for (size_t i = 0; i < models.size(); ++i) {
    const int slot = models[i].slot;
    Model& m = model(slot);
    m.labels_here = m.statistics_here = false;
    upload_prototypes(slot, *models[i].prototypes);
    PassRange& range = host_ranges_[i] = range_of(slot);
    range.first = ranges.clusters;
    ranges.clusters += padded(m.k, float_column_multiple(d()));
    ranges.most_clusters = std::max(ranges.most_clusters, m.k);
    if (m.labelled) continue;
    fill_zero(range.sums, static_cast<size_t>(m.k * d() * shared_.terms.limbs), stream_, "clearing sums");
    fill_zero(range.weights, static_cast<size_t>(m.k), stream_, "clearing weights");
    fill_zero(range.counts, static_cast<size_t>(m.k), stream_, "clearing counts");
  }
  copy_to_device(arrays_.ranges.data(), host_ranges_.data(), models.size(), stream_, "the models");
  ranges.at = arrays_.ranges.data();
  ranges.count = static_cast<int32_t>(models.size());
  ranges.float64 = float64();
  return ranges;
}

// Everything that the passes of a batch read.
PassRanges CudaSession::begin_batch(std::span<const PassModel> models, int n) {
  PassRanges ranges = enqueue_ranges(models);
  const size_t all = models.size() * static_cast<size_t>(n);
  counters_.reserve(all, "counters of passes");
  host_counters_.reserve(all, "counters of passes");
  fetched_passes_ = 0;
  std::vector<BatchModel> of_screen;
  for (const PassModel& pass : models) {
    of_screen.push_back({pass.slot, model(pass.slot).k, model(pass.slot).labelled});
  }
  screen_->begin_batch(of_screen, stream_);
  const std::span<uint32_t> numbers = screen_->numbers();
  fill_zero(counters_.data(), all, stream_, "clearing counters");
  fill_zero(arrays_.control.data(), 1, stream_, "clearing the state of a pass");
  fill_zero(numbers.data(), numbers.size(), stream_, "clearing numbers of rows");
  ranges.counters = counters_.data();
  ranges.control = arrays_.control.data();
  ranges.numbers = numbers.data();
  ranges.number_count = static_cast<int32_t>(numbers.size());
  return ranges;
}

PassWork CudaSession::work_of(const PassRanges& ranges) {
  return {ranges, current_rows(), next_rows(), arrays_.prototypes.data()};
}

void CudaSession::enqueue_pass(const PassRanges& ranges) {
  const PassWork work = work_of(ranges);
  bool first = true;
  screen_->begin_pass();
  shared_.slices->for_each(stream_, PointSlices::Use::kScreen, [&](const PointSlice& slice) {
    if (!first) {
      fill_zero(ranges.numbers, static_cast<size_t>(ranges.number_count), stream_, "clearing numbers of rows");
    }
    first = false;
    screen_->enqueue(work, slice, stream_);
  });
  screen_->end_pass();
  cuda::end_pass(ranges, shared_.device.multiprocessors, stream_);
}

void CudaSession::enqueue_solve(const PassRanges& ranges) {
  solve({ranges, d(), shared_.terms.limbs, shared_.terms.bits, shared_.solve_shifts.data()}, stream_);
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
void CudaSession::learn_from_passes(size_t models) {
  if (!screen_->learns()) return;
  const size_t first = fetched_passes_;
  fetch_counters(models);
  for (size_t pass = first; pass < fetched_passes_; ++pass) screen_->learn(pass, counters_of(pass, models));
}

// Tells the models what happened; returns the passes done.
int CudaSession::end_batch(std::span<PassModel> models) {
  const size_t count = models.size();
  const auto done = static_cast<int>(host_control_[0].passes);
  fetch_counters(count);
  if (done > 0) screen_->end_batch(counters_of(static_cast<size_t>(done) - 1, count));
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
    if (done > 1) download_prototypes(pass.slot, pass.last_prototypes);
  }
  return done;
}

// All passes of a batch in one kernel, where the problem is small enough; whether it is.
bool CudaSession::enqueue_persistent(const PassRanges& ranges, int most) {
  if (!persistent_) return false;
  bool begun = false;
  shared_.slices->for_each(stream_, PointSlices::Use::kScreen, [&](const PointSlice& all) {
    begun = persistent_->enqueue(work_of(ranges), all, most, stream_);
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
  if (shared_.boxes) work /= static_cast<double>(kBoxRows) / 8;
  return static_cast<int>(std::clamp(kWork / work, 2.0, 8.0));
}

// Passes from..to of a batch; returns `to`.
int CudaSession::enqueue_passes(PassRanges& ranges, int from, int to, size_t models) {
  const HandingOver handing_over(stream_.patience(), to - from);
  for (int pass = from; pass < to; ++pass) {
    if (pass > 0) enqueue_solve(ranges);
    ranges.counters = counters_.data() + static_cast<size_t>(pass) * models;
    enqueue_pass(ranges);
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
  bool persistent = false;
  {
    const HandingOver handing_over(stream_.patience(), most);
    ranges = begin_batch(models, most);
    hang_if_asked("pass", stream_);
    persistent = enqueue_persistent(ranges, most);
  }
  if (persistent) {
    copy_to_host(host_control_, 0, arrays_.control.data(), 1, stream_, "the state of a pass");
    stream_.synchronize("a batch of passes", most);
    screen_->forget_passes();
    return end_batch(models);
  }
  int queued = 0;
  do {
    queued = enqueue_passes(ranges, queued, std::min(most, queued + together), models.size());
    copy_to_host(host_control_, 0, arrays_.control.data(), 1, stream_, "the state of a pass");
    stream_.synchronize("a pass", together);
    learn_from_passes(models.size());
  } while (queued < most && host_control_[0].stopped == 0 && std::chrono::steady_clock::now() - begin < kLongestBatch);
  return end_batch(models);
}

}  // namespace manymeans::cuda
