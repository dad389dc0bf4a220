#include "backend/device/device_session.h"

#include "prototype/prototype.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace manymeans::device {
namespace {

size_t bytes_of(const std::vector<int64_t>& values) {
  return values.size() * sizeof(int64_t);
}

}  // namespace

DeviceSession::DeviceSession(Parts parts, RowSlices& slices, std::span<const int64_t> k, int threads)
    : memory_(std::move(parts.memory)),
      slices_(slices),
      threads_(threads),
      host_control_(queue().runtime(), sizeof(PassControl), "the state of a pass"),
      passes_(std::move(parts.passes)),
      rows_(std::move(parts.rows)),
      questions_(*memory_, slices, *rows_,
                 {[this](int slot) { return memory_of(slot); },
                  [this](int slot) { return passes_->labels_in_order(slot); }, [this] { passes_->use_device(); }}) {
  for (const int64_t count : k) {
    Model m;
    m.k = count;
    models_.push_back(std::move(m));
  }
}

// Members' memory must not go while the device uses it.
DeviceSession::~DeviceSession() {
  queue().settle();
}

void DeviceSession::join_team(PassTeam& team, size_t number) {
  passes_->use_device();
  exchange_ = std::make_unique<StatisticsExchange>(team, number, *memory_);
}

void DeviceSession::upload_prototypes(int slot, const Matrix& prototypes) {
  const auto bytes = prototypes.bytes();
  queue().copy_to_device(memory_of(slot).prototypes, bytes.data(), bytes.size(), "prototypes");
}

void DeviceSession::download_prototypes(int slot, Address from, Matrix& prototypes) {
  const DataType type = prototype_type(input().points.type);
  const int64_t k = model(slot).k;
  if (prototypes.rows() != k || prototypes.type() != type) prototypes = Matrix(k, memory_->width(), type);
  std::byte* const to = prototypes.values<std::byte>().data();
  queue().read_back(to, from, prototypes.bytes().size(), "fetching prototypes");
}

bool DeviceSession::write_labels(std::span<const int> slots, std::span<Labels* const> to, int64_t first) {
  const int width = memory_->label_width();
  std::vector<int> wanted;
  std::vector<std::byte*> places;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!model(slots[i]).labelled) return false;
    if (to[i]->width() != width) {
      Labels wide(n(), int64_t{1} << (8 * width));
      Labels* const all = &wide;
      write_labels(slots.subspan(i, 1), {&all, 1}, 0);
      copy_labels(wide, *to[i], first);
      continue;
    }
    wanted.push_back(slots[i]);
    places.push_back(to[i]->bytes().data() + first * width);
  }
  passes_->use_device();
  const auto bytes = static_cast<size_t>(n() * width);
  const auto from = [&](size_t i) { return passes_->labels_in_order(wanted[i]); };
  if (threads_ <= 1 || bytes * models_.size() < kMinStagedLabels) {
    for (size_t i = 0; i < wanted.size(); ++i) queue().read_back(places[i], from(i), bytes, "fetching labels");
    return true;
  }
  if (!label_staging_) label_staging_ = make_label_staging(queue().runtime(), bytes * models_.size(), threads_);
  label_staging_->fetch(bytes, places, from, queue(), "fetching labels");
  return true;
}

void DeviceSession::fetch_labels(std::span<const int> slots) {
  std::vector<int> wanted;
  std::vector<Labels*> to;
  for (const int slot : slots) {
    Model& m = model(slot);
    if (m.labels_here || !m.labelled) continue;
    m.labels = Labels(n(), m.k);
    wanted.push_back(slot);
    to.push_back(&m.labels);
  }
  write_labels(wanted, to, 0);
  for (const int slot : wanted) model(slot).labels_here = true;
}

const Labels& DeviceSession::labels(int slot) {
  fetch_labels({&slot, 1});
  return model(slot).labels;
}

void DeviceSession::fetch(std::span<const int> slots, std::span<const int> labels_of) {
  passes_->use_device();
  if (slots.size() > 1 && 2 * slots.size() > models_.size() && few_statistics()) fetch_statistics();
  fetch_labels(labels_of);
}

std::vector<LabelSum> DeviceSession::label_sums(std::span<const int> slots, int64_t first_row) {
  constexpr int64_t kMaxRows = int64_t{1} << 32;  // whose words of 32 bits have a sum of 64
  using TermSums = RowKernels::LabelTermSums;
  if (slots.empty() || !rows_->adds_label_terms() || n() > kMaxRows) return {};
  passes_->use_device();
  const size_t bytes = slots.size() * sizeof(TermSums);
  label_sums_.reserve(queue().runtime(), bytes, "sums of labels");
  const Settled settled(queue());
  queue().fill(label_sums_.at(), std::byte{0}, bytes, "clearing sums of labels");
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!model(slots[i]).labelled) return {};
    rows_->add_label_terms({passes_->labels_in_order(slots[i]), first_row, n()}, label_sums_.at(i * sizeof(TermSums)));
  }
  std::vector<TermSums> found(slots.size());
  queue().read_back(found.data(), label_sums_.at(), bytes, "summing labels");
  std::vector<LabelSum> sums;
  for (const TermSums& words : found) sums.push_back(words.sum());
  return sums;
}

Labels DeviceSession::take_labels(int slot) {
  labels(slot);
  Labels taken = std::exchange(model(slot).labels, Labels());
  drop_labels(slot);
  return taken;
}

void DeviceSession::store_labels(int slot, const ResultRoom& room) {
  const Address out = rows_->address_of(room);
  if (!out || !model(slot).labelled) return Session::store_labels(slot, room);
  passes_->use_device();
  rows_->widen_labels(passes_->labels_in_order(slot), n(), out);
  queue().synchronize("storing labels");
  drop_labels(slot);
}

void DeviceSession::drop_labels(int slot) {
  Model& m = model(slot);
  m.labels = {};
  m.labelled = m.labels_here = false;
  passes_->forget(slot);
}

void DeviceSession::make_statistics(Model& m) {
  if (m.statistics.k != m.k || m.statistics.sums.empty()) {
    m.statistics = Statistics(m.k, memory_->terms(), input().limbs);
  }
}

const Statistics& DeviceSession::statistics(int slot) {
  Model& m = model(slot);
  if (m.statistics_here) return m.statistics;
  passes_->use_device();
  // The engine makes the updates then, and will also read the other models' statistics.
  if (!updates() && m.labelled && fetches_all()) {
    fetch_statistics();
    return m.statistics;
  }
  make_statistics(m);
  const ModelMemory there = memory_of(slot);
  const auto fetch_into = [&](std::vector<int64_t>& to, Address from) {
    queue().read_back(to.data(), from, bytes_of(to), "fetching statistics");
  };
  fetch_into(m.statistics.sums, there.sums);
  fetch_into(m.statistics.weights, there.weights);
  fetch_into(m.statistics.counts, there.counts);
  m.statistics_here = true;
  return m.statistics;
}

ClusterSizes DeviceSession::sizes(int slot) {
  const Model& m = model(slot);
  if (m.statistics_here || !m.labelled || fetches_all()) return Session::sizes(slot);
  passes_->use_device();
  const auto fetched = [&](Address from) {
    std::vector<int64_t> to(static_cast<size_t>(m.k));
    queue().read_back(to.data(), from, bytes_of(to), "fetching the sizes of clusters");
    return to;
  };
  const ModelMemory there = memory_of(slot);
  return {fetched(there.weights), fetched(there.counts)};
}

// Fetching the statistics of many small models at once takes less time than an update of each.
bool DeviceSession::update(int slot, const Matrix& before, Matrix& after) {
  Model& m = model(slot);
  const bool engine_solves = !updates() || prototype_of(input()).engine_solves;
  if (exchange_ || engine_solves || !m.labelled || fetches_all()) return false;
  passes_->use_device();
  const Settled settled(queue());  // the device reads the caller's prototypes
  PassBatch alone;
  alone.models = {memory_of(slot)};
  alone.max_clusters = m.k;
  alone.counters = counters_.at();
  alone.control = memory_->control();
  alone.joined = true;
  upload_prototypes(slot, before);
  queue().fill(alone.counters, std::byte{0}, sizeof(PassCounters), "clearing counters");
  send_control({});
  passes_->begin_update(alone);
  passes_->update(alone);
  ask_control("an update", 1);
  if (host_control_.as<PassControl>()->unsolved != 0) return false;
  download_prototypes(slot, alone.models[0].prototypes, after);
  return true;
}

// Copied once more here: for many small ones that is less than a transfer each.
bool DeviceSession::few_statistics() const {
  constexpr size_t kMaxBytes = size_t{16} << 20;
  return memory_->sums().bytes() <= kMaxBytes;
}

// Fetches all models: three transfers instead of three for each.
void DeviceSession::fetch_statistics() {
  const auto fetched = [&](const Buffer& from) {
    std::vector<int64_t> to(from.bytes() / sizeof(int64_t));
    queue().read_back(to.data(), from.at(), from.bytes(), "fetching statistics");
    return to;
  };
  const std::vector<int64_t> sums = fetched(memory_->sums());
  const std::vector<int64_t> weights = fetched(memory_->weights());
  const std::vector<int64_t> counts = fetched(memory_->counts());
  for (int slot = 0; slot < memory_->models(); ++slot) {
    Model& m = model(slot);
    if (m.statistics_here || !m.labelled) continue;
    make_statistics(m);
    const int64_t first = memory_->first_cluster(slot);
    const auto part = [&](const std::vector<int64_t>& all, size_t begin, std::vector<int64_t>& to) {
      std::copy_n(all.begin() + static_cast<int64_t>(begin), to.size(), to.begin());
    };
    part(sums, memory_->sum_values(first), m.statistics.sums);
    part(weights, static_cast<size_t>(first), m.statistics.weights);
    part(counts, static_cast<size_t>(first), m.statistics.counts);
    m.statistics_here = true;
  }
}

void DeviceSession::send_statistics(int slot) {
  const Model& m = model(slot);
  const ModelMemory there = memory_of(slot);
  const Settled settled(queue());
  const auto send = [&](Address to, const std::vector<int64_t>& from) {
    queue().copy_to_device(to, from.data(), bytes_of(from), "statistics");
  };
  send(there.sums, m.statistics.sums);
  send(there.weights, m.statistics.weights);
  send(there.counts, m.statistics.counts);
  queue().synchronize("sending statistics");
}

uint32_t DeviceSession::label_of(int slot, int64_t row) {
  const Model& m = model(slot);
  if (m.labels_here) return m.labels[row];
  const auto width = static_cast<size_t>(memory_->label_width());
  const Address labels = passes_->labels_in_order(slot);
  uint32_t label = 0;
  static_assert(std::endian::native == std::endian::little);
  queue().read_back(&label, labels + static_cast<size_t>(row) * width, width, "fetching a label");
  return label;
}

void DeviceSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& m = model(slot);
  passes_->use_device();
  const uint32_t before = label_of(slot, row);
  const PassKernels::RowMove move{slices_.row(row, moved_row_, queue()), before, label};
  const Settled settled(queue());
  passes_->move_row(memory_of(slot), move);
  if (m.labels_here) m.labels.write(row, 1, &label);
  queue().synchronize("moving a row");
  m.statistics_here = false;
}

void DeviceSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  passes_->use_device();
  Model& m = model(slot);
  m.statistics = Statistics(statistics(slot)).renumbered(new_label, kept);
  m.k = std::ssize(kept);
  send_statistics(slot);
  const Buffer table(queue().runtime(), new_label.size_bytes(), "new labels");
  const Settled settled(queue());
  queue().copy_to_device(table.at(), new_label.data(), new_label.size_bytes(), "new labels");
  passes_->renumber(slot, table.at());
  queue().synchronize("replacing labels");
  m.labels_here = false;
}

}  // namespace manymeans::device
