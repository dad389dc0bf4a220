#include "backend/cuda/pass/cuda_session.h"

#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/resolve.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace manymeans::cuda {
namespace {

// Labels of one width as those of another.
template <class T>
void store_labels(const std::byte* from, int64_t count, Labels& to) {
  constexpr int64_t kBlock = 4096;
  const T* typed = reinterpret_cast<const T*>(from);
  std::vector<uint32_t> block(kBlock);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t some = std::min(kBlock, count - first);
    for (int64_t i = 0; i < some; ++i) block[static_cast<size_t>(i)] = typed[first + i];
    to.write(first, some, block.data());
  }
}

}  // namespace

CudaSession::CudaSession(const CudaShared& shared, std::span<const int64_t> k, int threads)
    : CudaSession(shared, session_shape(shared.input, k, shared.plan), threads) {}

CudaSession::CudaSession(const CudaShared& shared, const SessionShape& shape, int threads)
    : shared_((use_device(shared.device), shared)),
      stride_(shape.label_stride()),
      next_stride_(shape.slice_stride()),
      width_(shape.label_width()),
      stream_(shared.patience),
      arrays_(shape),
      host_ranges_(shape.k.size(), "the models"),
      host_control_(1, "the state of a pass"),
      threads_(threads),
      assigned_distances_(shared.input, *shared.slices, stream_) {
  int64_t clusters = 0;
  for (const int64_t count : shape.k) {
    Model m;
    m.k = count;
    m.first = clusters;
    clusters += count;
    models_.push_back(std::move(m));
  }
  SessionScreen made = make_screen(shared, shape, stream_);
  screen_ = std::move(made.screen);
  persistent_ = std::move(made.persistent);
}

// What members hold must not go while the device uses it.
CudaSession::~CudaSession() {
  stream_.settle();
}

DeviceLabels CudaSession::labels_of(int slot) {
  return {screen_->labels_of(slot, current_rows(), arrays_.next.data(), stream_), width_};
}

PassRange CudaSession::range_of(int slot) const {
  const Model& m = models_[static_cast<size_t>(slot)];
  auto* bytes = const_cast<std::byte*>(arrays_.prototypes.data());
  PassRange range;
  range.slot = slot;
  range.first_pass = m.labelled ? 0 : 1;
  range.k = m.k;
  range.prototypes = bytes + static_cast<size_t>(m.first * d()) * prototype_bytes();
  range.sums = const_cast<long long*>(arrays_.sums.data()) + m.first * d() * shared_.terms.limbs;
  range.weights = const_cast<long long*>(arrays_.weights.data()) + m.first;
  range.counts = const_cast<long long*>(arrays_.counts.data()) + m.first;
  return range;
}

void CudaSession::upload_prototypes(int slot, const Matrix& prototypes) {
  auto* to = static_cast<std::byte*>(const_cast<void*>(range_of(slot).prototypes));
  copy_to_device(to, prototypes.bytes().data(), prototypes.bytes().size(), stream_, "prototypes");
}

void CudaSession::download_prototypes(int slot, Matrix& prototypes) {
  const DataType type = prototype_type(shared_.input.points.type);
  if (prototypes.rows() != model(slot).k || prototypes.type() != type) prototypes = Matrix(model(slot).k, d(), type);
  const void* from = range_of(slot).prototypes;
  const size_t bytes = prototypes.bytes().size();
  std::byte* to = type == DataType::kFloat64 ? reinterpret_cast<std::byte*>(prototypes.values<double>().data())
                                             : reinterpret_cast<std::byte*>(prototypes.values<float>().data());
  read_back(to, static_cast<const std::byte*>(from), bytes, stream_, "fetching prototypes");
}

// Of these models, where the session's labels are many; not those that have another width here.
void CudaSession::fetch_labels(std::span<const int> slots) {
  const auto bytes = static_cast<size_t>(n() * width_);
  if (threads_ <= 1 || bytes * models_.size() < LabelCopier::kLeastBytes) return;
  std::vector<int> wanted;
  std::vector<std::byte*> to;
  for (const int slot : slots) {
    Model& m = model(slot);
    if (m.labels_here || !m.labelled) continue;
    m.labels = Labels(n(), m.k);
    if (m.labels.width() != width_) continue;
    wanted.push_back(slot);
    to.push_back(m.labels.bytes().data());
  }
  if (wanted.empty()) return;
  if (!label_copier_) label_copier_ = std::make_unique<LabelCopier>(threads_, bytes * models_.size());
  const auto from = [&](size_t i) { return static_cast<const std::byte*>(labels_of(wanted[i]).data); };
  label_copier_->copy(bytes, to, from, stream_);
  for (const int slot : wanted) model(slot).labels_here = true;
}

const Labels& CudaSession::labels(int slot) {
  Model& m = model(slot);
  if (m.labels_here || !m.labelled) return m.labels;
  use_device(shared_.device);
  fetch_labels({&slot, 1});
  if (m.labels_here) return m.labels;
  m.labels = Labels(n(), m.k);
  std::vector<std::byte> wide(m.labels.width() == width_ ? 0 : static_cast<size_t>(n() * width_));
  std::byte* const to = wide.empty() ? m.labels.bytes().data() : wide.data();
  read_back(to, static_cast<const std::byte*>(labels_of(slot).data), static_cast<size_t>(n() * width_), stream_,
            "fetching labels");
  if (!wide.empty() && width_ == 2) {
    store_labels<uint16_t>(wide.data(), n(), m.labels);
  } else if (!wide.empty()) {
    store_labels<uint32_t>(wide.data(), n(), m.labels);
  }
  m.labels_here = true;
  return m.labels;
}

void CudaSession::fetch(std::span<const int> slots) {
  use_device(shared_.device);
  // Copied once more here: for many small ones that is less than a transfer each.
  constexpr size_t kMostBytes = size_t{16} << 20;
  if (slots.size() > 1 && 2 * slots.size() > models_.size() && arrays_.sums.bytes() <= kMostBytes) fetch_statistics();
  fetch_labels(slots);
}

Labels CudaSession::take_labels(int slot) {
  labels(slot);
  Model& m = model(slot);
  m.labelled = m.labels_here = false;
  screen_->forget_passes();
  return std::exchange(m.labels, Labels());
}

const Statistics& CudaSession::statistics(int slot) {
  Model& m = model(slot);
  if (m.statistics_here) return m.statistics;
  use_device(shared_.device);
  make_statistics(m);
  const PassRange range = range_of(slot);
  const auto fetch_into = [&](std::vector<int64_t>& to, const long long* from) {
    read_back(reinterpret_cast<long long*>(to.data()), from, to.size(), stream_, "fetching statistics");
  };
  fetch_into(m.statistics.sums, range.sums);
  fetch_into(m.statistics.weights, range.weights);
  fetch_into(m.statistics.counts, range.counts);
  m.statistics_here = true;
  return m.statistics;
}

void CudaSession::make_statistics(Model& m) {
  if (m.statistics.k != m.k || m.statistics.sums.empty()) m.statistics = Statistics(m.k, d(), shared_.terms.limbs);
}

// Of all models: three transfers instead of three for each.
void CudaSession::fetch_statistics() {
  const auto fetched = [&](const DeviceBuffer<long long>& from) {
    std::vector<long long> to(from.size());
    read_back(to.data(), from.data(), to.size(), stream_, "fetching statistics");
    return to;
  };
  const std::vector<long long> sums = fetched(arrays_.sums);
  const std::vector<long long> weights = fetched(arrays_.weights);
  const std::vector<long long> counts = fetched(arrays_.counts);
  for (Model& m : models_) {
    if (m.statistics_here || !m.labelled) continue;
    make_statistics(m);
    const auto part = [&](const std::vector<long long>& all, int64_t first, std::vector<int64_t>& to) {
      std::copy_n(all.begin() + first, to.size(), to.begin());
    };
    part(sums, m.first * d() * shared_.terms.limbs, m.statistics.sums);
    part(weights, m.first, m.statistics.weights);
    part(counts, m.first, m.statistics.counts);
    m.statistics_here = true;
  }
}

void CudaSession::send_statistics(int slot) {
  const Model& m = model(slot);
  const PassRange range = range_of(slot);
  const Settled settled(stream_);
  const auto send = [&](long long* to, const std::vector<int64_t>& from) {
    copy_to_device(to, reinterpret_cast<const long long*>(from.data()), from.size(), stream_, "statistics");
  };
  send(range.sums, m.statistics.sums);
  send(range.weights, m.statistics.weights);
  send(range.counts, m.statistics.counts);
  stream_.synchronize("sending statistics");
}

void CudaSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& m = model(slot);
  const uint32_t before = labels(slot)[row];
  use_device(shared_.device);
  const Settled settled(stream_);
  const PassRange range = range_of(slot);
  AccumulateTask task;
  task.points = shared_.slices->row(row, moved_row_, stream_);
  task.terms = shared_.terms;
  task.weight_shift = shared_.input.weight_shift;
  accumulate_row(task, range, before, -1, stream_);
  accumulate_row(task, range, label, 1, stream_);
  m.labels.write(row, 1, &label);
  screen_->set_label(slot, row, label, current_rows(), stream_);
  stream_.synchronize("moving a row");
  m.statistics_here = false;
}

void CudaSession::relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  use_device(shared_.device);
  Model& m = model(slot);
  const Statistics old = statistics(slot);
  const auto k = static_cast<int64_t>(kept.size());
  m.statistics = Statistics(k, d(), shared_.terms.limbs);
  for (int64_t to = 0; to < k; ++to) {
    const int64_t from = kept[static_cast<size_t>(to)];
    std::copy_n(old.row(from), shared_.terms.limbs * d(), m.statistics.row(to));
    m.statistics.weights[static_cast<size_t>(to)] = old.weights[static_cast<size_t>(from)];
  }
  for (size_t l = 0; l < new_label.size(); ++l) m.statistics.counts[new_label[l]] += old.counts[l];
  m.k = k;
  send_statistics(slot);
  DeviceBuffer<uint32_t> table(new_label.size(), "new labels");
  const Settled settled(stream_);
  copy_to_device(table.data(), new_label.data(), new_label.size(), stream_, "new labels");
  relabel_rows(current_rows(), slot, n(), table.data(), stream_);
  screen_->forget(slot, stream_);
  stream_.synchronize("replacing labels");
  m.labels_here = false;
}

std::vector<InertiaSum> CudaSession::inertias(std::span<const ModelPrototypes> models) {
  use_device(shared_.device);
  const Settled settled(stream_);
  std::vector<const void*> prototypes;
  for (const ModelPrototypes& model : models) {
    upload_prototypes(model.slot, *model.prototypes);
    prototypes.push_back(range_of(model.slot).prototypes);
  }
  return assigned_distances_.inertias(prototypes, [&](size_t i) { return labels_of(models[i].slot); });
}

std::vector<int64_t> CudaSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  use_device(shared_.device);
  const Settled settled(stream_);
  upload_prototypes(slot, prototypes);
  return assigned_distances_.inertia(labels_of(slot), range_of(slot).prototypes, format);
}

std::vector<double> CudaSession::distances(int slot, const Matrix& prototypes) {
  use_device(shared_.device);
  const Settled settled(stream_);
  upload_prototypes(slot, prototypes);
  return assigned_distances_.distances(labels_of(slot), range_of(slot).prototypes);
}

void CudaSession::transform(const Matrix& prototypes, Matrix& distances) {
  use_device(shared_.device);
  assigned_distances_.transform(prototypes, distances);
}

std::vector<DistantRow> CudaSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  use_device(shared_.device);
  const Settled settled(stream_);
  upload_prototypes(slot, prototypes);
  return assigned_distances_.farthest_rows(labels_of(slot), range_of(slot).prototypes, count);
}

}  // namespace manymeans::cuda
