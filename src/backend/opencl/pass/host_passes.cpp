#include "backend/opencl/pass/host_passes.h"

#include "core/data_type.h"
#include "core/label_term.h"

#include <algorithm>
#include <cstring>

namespace manymeans::opencl {
namespace {

constexpr int64_t kGrain = 1024;  // rows

uint32_t load_label(const std::vector<std::byte>& labels, int width, int64_t i) {
  uint32_t label = 0;
  std::memcpy(&label, labels.data() + i * width, static_cast<size_t>(width));
  return label;
}

void store_label(std::vector<std::byte>& labels, int width, int64_t i, uint32_t label) {
  std::memcpy(labels.data() + i * width, &label, static_cast<size_t>(width));
}

}  // namespace

// What the device says of a slice's rows and one model.
struct HostPasses::Slice {
  int64_t first, count;
  bool first_pass;
  std::vector<std::byte> before, next;
  std::vector<uint32_t> marks;
};

// What a thread finds out of its rows.
struct HostPasses::Found {
  Statistics statistics;
  device::PassCounters counters = {};
  LabelSum hash = 0;
};

HostPasses::HostPasses(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k,
                       int threads)
    : input_(shared.input),
      prototype_(prototype_of(shared.input)),
      memory_(memory),
      queue_(memory.queue()),
      arrays_(shared, memory, k),
      pool_(threads, shared.options.abort) {
  if (!shared.plan.exact) screen_ = std::make_unique<ScoreScreen>(shared, memory, arrays_);
}

Statistics HostPasses::fetch(const device::ModelMemory& model) const {
  Statistics statistics(model.k, memory_.terms(), input_.limbs);
  const auto read = [&](std::vector<int64_t>& to, Address from) {
    queue_.read_back(to.data(), from, to.size() * sizeof(int64_t), "fetching statistics");
  };
  read(statistics.sums, model.sums);
  read(statistics.weights, model.weights);
  read(statistics.counts, model.counts);
  return statistics;
}

// `statistics` must stay until the queue is done with them.
void HostPasses::send(const device::ModelMemory& model, const Statistics& statistics) {
  const auto write = [&](Address to, const std::vector<int64_t>& from) {
    queue_.copy_to_device(to, from.data(), from.size() * sizeof(int64_t), "statistics");
  };
  write(model.sums, statistics.sums);
  write(model.weights, statistics.weights);
  write(model.counts, statistics.counts);
}

void HostPasses::begin(const device::PassBatch& batch) {
  arrays_.begin(batch, queue_);
  const DataType type = prototype_type(input_.points.type);
  statistics_.clear();
  prototypes_.clear();
  counters_.assign(batch.models.size(), {});
  for (const device::ModelMemory& model : batch.models) {
    statistics_.push_back(fetch(model));
    const int64_t values = model.k * memory_.width();
    std::vector<std::byte> bytes(static_cast<size_t>(values) * size_of(type));
    queue_.read_back(bytes.data(), model.prototypes, bytes.size(), "fetching prototypes");
    prototypes_.emplace_back(static_cast<size_t>(values));
    widen(bytes.data(), type, 0, values, prototypes_.back().data());
  }
}

void HostPasses::pass(const device::PassBatch& batch, const device::Rows& rows, bool first) {
  if (screen_ && first) screen_->pack_prototypes(batch);
  if (screen_) screen_->look(batch, rows);
  const int64_t width = memory_.label_width();
  for (size_t m = 0; m < batch.models.size(); ++m) {
    const device::ModelMemory& model = batch.models[m];
    const auto bytes = static_cast<size_t>(rows.count * width);
    Slice slice{rows.first,
                rows.count,
                !model.labelled,
                std::vector<std::byte>(bytes),
                std::vector<std::byte>(bytes),
                std::vector<uint32_t>(static_cast<size_t>((rows.count + 31) / 32), ~0U)};
    const Address labels = memory_.labels(model.slot, rows.first);
    if (!slice.first_pass) queue_.read_back(slice.before.data(), labels, bytes, "fetching labels");
    if (screen_) {
      const Address next = arrays_.next() + static_cast<size_t>(model.slot * arrays_.next_stride() * width);
      const Address marks = arrays_.marks() + m * static_cast<size_t>(arrays_.mark_stride()) * sizeof(uint32_t);
      const size_t mark_bytes = slice.marks.size() * sizeof(uint32_t);
      queue_.read_back(slice.next.data(), next, bytes, "fetching labels");
      queue_.read_back(slice.marks.data(), marks, mark_bytes, "fetching marks");
      queue_.fill(marks, std::byte{0}, mark_bytes, "clearing marks");
    }
    const Settled settled(queue_);
    resolve(m, slice);
    queue_.copy_to_device(labels, slice.next.data(), bytes, "labels");
  }
}

void HostPasses::resolve(size_t m, Slice& slice) {
  const int64_t k = statistics_[m].k;
  std::vector<Found> found(static_cast<size_t>(pool_.size()));
  for (Found& mine : found) mine.statistics = Statistics(k, memory_.terms(), input_.limbs);
  pool_.for_each_range(slice.count, kGrain, [&](int worker, int64_t first, int64_t last) {
    look_at(m, slice, first, last, found[static_cast<size_t>(worker)]);
  });
  device::PassCounters& counters = counters_[m];
  LabelSum hash = static_cast<LabelSum>(counters.hash_high) << 64 | counters.hash_low;
  for (const Found& mine : found) {
    const auto add = [](std::vector<int64_t>& to, const std::vector<int64_t>& from) {
      for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(statistics_[m].sums, mine.statistics.sums);
    add(statistics_[m].weights, mine.statistics.weights);
    add(statistics_[m].counts, mine.statistics.counts);
    counters.changed += mine.counters.changed;
    counters.resolved += mine.counters.resolved;
    counters.candidates += mine.counters.candidates;
    hash += mine.hash;
  }
  counters.hash_low = static_cast<uint64_t>(hash);
  counters.hash_high = static_cast<uint64_t>(hash >> 64);
}

void HostPasses::look_at(size_t m, Slice& slice, int64_t first, int64_t last, Found& found) const {
  const int width = memory_.label_width();
  const int64_t d = input_.points.d;
  std::vector<double> scratch(static_cast<size_t>(d));
  std::vector<double> terms(static_cast<size_t>(memory_.terms()));
  for (int64_t i = first; i < last; ++i) {
    const bool proved = (slice.marks[static_cast<size_t>(i / 32)] >> (i % 32) & 1) == 0;
    uint32_t label = load_label(slice.next, width, i);
    std::optional<uint32_t> before;
    if (!slice.first_pass) before = load_label(slice.before, width, i);
    if (proved && label == before) continue;
    const Row row{slice.first + i, rows_as<double>(input_.points, slice.first + i, 1, scratch.data()), terms};
    if (!proved) {
      prototype_.f64.nearest({row.x, 1, d}, prototypes_[m].data(), found.statistics.k, &label);
      store_label(slice.next, width, i, label);
      ++found.counters.resolved;
      found.counters.candidates += static_cast<uint64_t>(found.statistics.k);
    }
    if (label == before) continue;
    ++found.counters.changed;
    add_row(found.statistics, row, before, label);
    const int64_t number = input_.shard.first + row.number;
    if (before) found.hash += label_term(number, label) - label_term(number, *before);
  }
}

// Takes a row from its cluster, if it has one, and adds it to another.
void HostPasses::add_row(Statistics& statistics, const Row& row, std::optional<uint32_t> from, uint32_t to) const {
  const double weight = input_.weight(row.number);
  prototype_.f64.terms({row.x, 1, input_.points.d}, &weight, row.terms.data());
  int64_t* const sums = statistics.row(to);
  int64_t* const sums_before = from ? statistics.row(*from) : nullptr;
  for (size_t t = 0; t < row.terms.size(); ++t) {
    int64_t term[kMaxLimbs] = {};
    const SumFormat& format = input_.columns[t];
    add_term(row.terms[t], format, 1, term);
    for (int g = 0; g < format.limbs; ++g) {
      const size_t at = static_cast<size_t>(g) * row.terms.size() + t;
      sums[at] += term[g];
      if (from) sums_before[at] -= term[g];
    }
  }
  statistics.weights[to] += input_.integer_weight(row.number);
  ++statistics.counts[to];
  if (!from) return;
  statistics.weights[*from] -= input_.integer_weight(row.number);
  --statistics.counts[*from];
}

// The engine judges, and updates.
void HostPasses::end_pass(const device::PassBatch& batch) {
  for (size_t m = 0; m < batch.models.size(); ++m) {
    send(batch.models[m], statistics_[m]);
    counters_[m].empty = static_cast<uint64_t>(std::ranges::count(statistics_[m].weights, 0));
  }
  queue_.copy_to_device(batch.counters, counters_.data(), counters_.size() * sizeof(counters_[0]),
                        "counters of passes");
  control_ = {};
  control_.stopped = device::kByPass;
  control_.passes = 1;
  queue_.copy_to_device(batch.control, &control_, sizeof(control_), "the state of a pass");
}

void HostPasses::move_row(const device::ModelMemory& model, const RowMove& move) {
  Statistics statistics = fetch(model);
  const int64_t row = move.row.first;
  std::vector<double> scratch(static_cast<size_t>(input_.points.d));
  std::vector<double> terms(static_cast<size_t>(memory_.terms()));
  add_row(statistics, {row, rows_as<double>(input_.points, row, 1, scratch.data()), terms}, move.from, move.to);
  const Settled settled(queue_);
  send(model, statistics);
  queue_.copy_to_device(memory_.labels(model.slot, move.row.first), &move.to,
                        static_cast<size_t>(memory_.label_width()), "a label");
}

void HostPasses::renumber(int slot, Address table) {
  const int width = memory_.label_width();
  std::vector<std::byte> labels(static_cast<size_t>(input_.points.n * width));
  queue_.read_back(labels.data(), memory_.labels(slot), labels.size(), "fetching labels");
  uint32_t most = 0;
  for (int64_t i = 0; i < input_.points.n; ++i) most = std::max(most, load_label(labels, width, i));
  std::vector<uint32_t> new_labels(most + size_t{1});
  queue_.read_back(new_labels.data(), table, new_labels.size() * sizeof(uint32_t), "fetching new labels");
  for (int64_t i = 0; i < input_.points.n; ++i) {
    store_label(labels, width, i, new_labels[load_label(labels, width, i)]);
  }
  const Settled settled(queue_);
  queue_.copy_to_device(memory_.labels(slot), labels.data(), labels.size(), "labels");
}

}  // namespace manymeans::opencl
