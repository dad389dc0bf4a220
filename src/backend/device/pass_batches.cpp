// Batches of passes of a device's session; all queued without waiting.
#include "backend/device/device_session.h"

#include <algorithm>
#include <chrono>

namespace manymeans::device {
namespace {

constexpr int kMaxPasses = 64;  // of one batch
// The engine looks at signals between batches. How many passes a batch has changes no answer.
constexpr std::chrono::milliseconds kLongestBatch{700};

PassResult result_of(const PassCounters& counted, int64_t rows) {
  PassResult result;
  result.changed = static_cast<int64_t>(counted.changed);
  result.hash_delta = static_cast<LabelSum>(counted.hash_high) << 64 | counted.hash_low;
  result.resolved = static_cast<int64_t>(counted.resolved);
  result.candidates = static_cast<int64_t>(counted.candidates);
  result.skipped = static_cast<int64_t>(counted.kept);
  result.certified = rows - result.resolved - result.skipped;
  return result;
}

}  // namespace

void DeviceSession::send_control(const PassLimits& limits) {
  PassControl& control = *host_control_.as<PassControl>();
  control = {};
  control.changed = limits.changed;
  control.shifts = limits.shifts;
  queue().copy_to_device(memory_->control(), &control, sizeof(PassControl), "the state of a pass");
}

// Everything that the passes of a batch read.
void DeviceSession::begin_batch(std::span<const PassModel> models, const PassLimits& limits) {
  batch_.models.clear();
  batch_.limits = limits;
  batch_.max_clusters = 0;
  for (const PassModel& pass : models) {
    Model& m = model(pass.slot);
    m.labels_here = m.statistics_here = false;
    upload_prototypes(pass.slot, *pass.prototypes);
    ModelMemory there = memory_of(pass.slot);
    there.labelled = m.labelled;
    batch_.models.push_back(there);
    batch_.max_clusters = std::max(batch_.max_clusters, m.k);
    if (m.labelled) continue;
    const auto clusters = static_cast<size_t>(m.k);
    queue().fill(there.sums, std::byte{0}, memory_->sum_values(m.k) * sizeof(int64_t), "clearing sums");
    queue().fill(there.weights, std::byte{0}, clusters * sizeof(int64_t), "clearing weights");
    queue().fill(there.counts, std::byte{0}, clusters * sizeof(int64_t), "clearing counts");
  }
  const size_t bytes = models.size() * static_cast<size_t>(limits.passes) * sizeof(PassCounters);
  counters_.reserve(queue().runtime(), bytes, "counters of passes");
  host_counters_.reserve(queue().runtime(), bytes, "counters of passes");
  fetched_passes_ = 0;
  batch_.counters = counters_.at();
  batch_.control = memory_->control();
  queue().fill(counters_.at(), std::byte{0}, bytes, "clearing counters");
  send_control(limits);
  passes_->begin(batch_);
  if (!exchange_) return;
  joined_batch_ = exchange_->joined(batch_);
  passes_->begin_joined(joined_batch_);
}

// Passes from..to of the batch; returns `to`. The update follows its pass at once. A decision after a question, such as
// whether margins are carried, then applies to a pass that is made.
int DeviceSession::enqueue_passes(int from, int to) {
  const HandingOver handing_over(queue().patience(), to - from);
  for (int pass = from; pass < to; ++pass) {
    batch_.counters = counters_.at(static_cast<size_t>(pass) * batch_.models.size() * sizeof(PassCounters));
    bool first = true;
    slices_.for_each(queue(), [&](const Rows& rows) { passes_->pass(batch_, rows, std::exchange(first, false)); });
    if (exchange_) exchange_->enqueue(batch_, *passes_);
    const PassBatch& all_rows = exchange_ ? joined_batch_ : batch_;
    passes_->end_pass(all_rows);
    if (pass + 1 < batch_.limits.passes) passes_->update(all_rows);
  }
  return to;
}

void DeviceSession::ask_control(const char* doing, int passes) {
  queue().copy_to_host(host_control_.data(), memory_->control(), sizeof(PassControl), "the state of a pass");
  queue().synchronize(doing, passes);
}

// Returns the counters of the batch's finished passes that were not fetched before.
std::span<const PassCounters> DeviceSession::fetch_counters() {
  const size_t done = host_control_.as<PassControl>()->passes;
  const size_t first = fetched_passes_ * batch_.models.size();
  const size_t count = done * batch_.models.size() - first;
  PassCounters* const to = host_counters_.as<PassCounters>() + first;
  if (count == 0) return {};
  const Address from = counters_.at(first * sizeof(PassCounters));
  queue().copy_to_host(to, from, count * sizeof(PassCounters), "counters of passes");
  queue().synchronize("fetching counters");
  fetched_passes_ = done;
  return {to, count};
}

// Learns from the batch's passes so far for the next ones.
void DeviceSession::learn() {
  if (!passes_->learns()) return;
  size_t pass = fetched_passes_;
  const size_t models = batch_.models.size();
  const std::span<const PassCounters> counted = fetch_counters();
  for (size_t at = 0; at < counted.size(); at += models) passes_->learn(pass++, counted.subspan(at, models));
}

// Tells the models what happened; returns the passes done.
int DeviceSession::end_batch(std::span<PassModel> models) {
  const PassControl& control = *host_control_.as<PassControl>();
  const auto done = static_cast<int>(control.passes);
  const bool updated = control.stopped == kByUpdate || (control.stopped == kGoesOn && done < batch_.limits.passes);
  fetch_counters();
  const PassCounters* counted = host_counters_.as<PassCounters>();
  const size_t all = static_cast<size_t>(done) * models.size();
  if (control.unsolved != 0) {
    ++unsolved_;
  } else if (done > 1) {
    unsolved_ = 0;
  }
  if (done > 0) passes_->end({counted + all - models.size(), models.size()});
  for (PassModel& pass : models) pass.earlier.clear();
  for (int p = 0; p < done; ++p) {
    for (PassModel& pass : models) {
      pass.result = result_of(*counted++, n());
      if (p + 1 < done) pass.earlier.push_back(pass.result);
    }
  }
  for (PassModel& pass : models) {
    model(pass.slot).labelled = true;
    if (done == 1) continue;
    const ModelMemory there = memory_of(pass.slot);
    download_prototypes(pass.slot, updated ? there.before : there.prototypes, pass.last_prototypes);
  }
  return done;
}

int DeviceSession::advance(std::span<PassModel> models, const PassLimits& asked) {
  passes_->use_device();
  PassLimits limits = asked;
  const int most = limits.passes = updates() ? std::clamp(asked.passes, 1, kMaxPasses) : 1;
  const auto begin = std::chrono::steady_clock::now();
  const Settled settled(queue());  // the device reads the callers' prototypes
  bool all = false;
  {
    const HandingOver handing_over(queue().patience(), most);
    begin_batch(models, limits);
    all = !exchange_ && passes_->run_batch(batch_);
  }
  if (all) {
    ask_control("a batch of passes", most);
    return end_batch(models);
  }
  const auto together = static_cast<int>(agree(passes_->passes_between_questions(batch_)));
  int queued = 0;
  bool goes_on = true;
  while (goes_on) {
    queued = enqueue_passes(queued, std::min(most, queued + together));
    ask_control("a pass", together);
    learn();
    const bool in_time = std::chrono::steady_clock::now() - begin < kLongestBatch;
    goes_on = queued < most && host_control_.as<PassControl>()->stopped == kGoesOn && agree(in_time ? 1 : 0) != 0;
  }
  return end_batch(models);
}

}  // namespace manymeans::device
