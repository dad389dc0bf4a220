#include "backend/cuda/pass/cuda_session.h"

#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "backend/cuda/tensor/score_falls.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace manymeans::cuda {
namespace {

int64_t padded(int64_t count, int64_t group) {
  return (count + group - 1) / group * group;
}

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
    : shared_((use_device(shared.device), shared)),
      stream_(shared.patience),
      threads_(threads),
      assigned_distances_(shared.input, *shared.slices, stream_) {
  int64_t most = 1;
  for (const int64_t count : k) {
    Model m;
    m.k = m.most = count;
    m.first = clusters_;
    clusters_ += count;
    most = std::max(most, count);
    models_.push_back(std::move(m));
  }
  width_ = most <= 256 ? 1 : (most <= 65536 ? 2 : 4);
  make_room();
}

// What members hold must not go while the device uses it.
CudaSession::~CudaSession() {
  stream_.settle();
}

void CudaSession::make_room() {
  const size_t models = models_.size();
  const auto values = static_cast<size_t>(clusters_ * d());
  stride_ = padded(n(), 128);
  next_stride_ = padded(rows_together(), 128);
  current_ = DeviceBuffer<std::byte>(models * static_cast<size_t>(stride_ * width_), "the labels");
  // Boxes change labels where they are; this is for those of one model in their rows' order.
  next_ = DeviceBuffer<std::byte>((boxed() ? 1 : models) * static_cast<size_t>(next_stride_ * width_),
                                  "the labels of a pass");
  prototypes_ = DeviceBuffer<std::byte>(values * prototype_bytes(), "the prototypes");
  sums_ = DeviceBuffer<long long>(values * static_cast<size_t>(shared_.terms.limbs), "the clusters' sums");
  weights_ = DeviceBuffer<long long>(static_cast<size_t>(clusters_), "the clusters' weights");
  counts_ = DeviceBuffer<long long>(static_cast<size_t>(clusters_), "the clusters' counts");
  ranges_ = DeviceBuffer<PassRange>(models, "the models");
  host_ranges_ = PinnedBuffer<PassRange>(models, "the models");
  control_ = DeviceBuffer<PassControl>(1, "the state of a pass");
  host_control_ = PinnedBuffer<PassControl>(1, "the state of a pass");
  if (boxed()) return make_room_for_boxes();
  const bool low = d() <= kLowColumns;
  int64_t columns = 0;
  int64_t most = 1;
  for (const Model& m : models_) most = std::max(most, m.most);
  for (const Model& m : models_) columns += padded(m.most, low ? kLowGroup : kTileGroup);
  if (shared_.plan.screen == ScreenKind::kMatrix) make_room_for_matrix();
  make_room_for_margins();
  const bool in_float =
      shared_.plan.screen == ScreenKind::kFloat || (shared_.plan.screen == ScreenKind::kMatrix && !low);
  if (in_float) {
    columns_ = DeviceBuffer<float>(static_cast<size_t>(columns * (low ? low_column_floats(d()) : d() + 3)),
                                   "the prototypes' columns");
  }
  mark_stride_ = padded(rows_together(), 128) / 32;
  marks_ = DeviceBuffer<uint32_t>(models * static_cast<size_t>(mark_stride_), "marks of rows");
  make_room_for_open(most);
  left_ = DeviceBuffer<LeftRow>(kMostLeft, "rows that get all distances");
  nearest_ = DeviceBuffer<SliceNearest>(kMostLeft * kLeftSlices, "rows that get all distances");
  const int64_t entries =
      label_order_capacity(rows_together(), d(), shared_.terms.limbs, most, static_cast<int64_t>(models));
  if (entries > 0) {
    entries_ = DeviceBuffer<uint32_t>(static_cast<size_t>(entries), "the rows that changed");
    first_entries_ = DeviceBuffer<uint32_t>(static_cast<size_t>(columns + 1), "the rows that changed");
    next_entries_ = DeviceBuffer<uint32_t>(static_cast<size_t>(columns), "the rows that changed");
  }
}

void CudaSession::make_room_for_matrix() {
  int64_t most = 1;
  for (const Model& m : models_) most = std::max(most, m.most);
  tile_columns_ = matrix_tile_columns(shared_.plan.matrix_unit, shared_.plan.padded_columns, most);
  int64_t columns = 0;
  for (const Model& m : models_) columns += padded(m.most, tile_columns_);
  const auto count = static_cast<size_t>(columns);
  halves_ = DeviceBuffer<uint16_t>(count * static_cast<size_t>(shared_.plan.padded_columns), "the prototypes' columns");
  bounds_ = DeviceBuffer<float>(3 * count, "the columns' bounds");
  order_ = DeviceBuffer<uint32_t>(count, "the columns' prototypes");
  tile_terms_ = DeviceBuffer<float>(static_cast<size_t>(matrix_terms(columns, tile_columns_)), "the tiles' terms");
  column_ranges_ = DeviceBuffer<ColumnRange>(models_.size(), "the models' columns");
  host_column_ranges_ = PinnedBuffer<ColumnRange>(models_.size(), "the models' columns");
  const int64_t capacity = list_capacity(rows_together(), static_cast<int64_t>(models_.size()));
  list_ = DeviceBuffer<Unproved>(static_cast<size_t>(capacity), "the list of rows");
  const int64_t marked = marked_capacity(rows_together(), static_cast<int64_t>(models_.size()));
  marked_rows_ = DeviceBuffer<int64_t>(static_cast<size_t>(marked), "the marked rows");
  slice_tops_ = DeviceBuffer<SliceTop>(static_cast<size_t>(marked * marked_slices(marked)), "the marked rows");
  marked_counts_ = DeviceBuffer<uint32_t>(models_.size(), "the marked rows");
  if (!shared_.plan.floors) return;
  lowers_ = DeviceBuffer<float>(models_.size() * static_cast<size_t>(stride_), "the rows' best scores");
  falls_ = DeviceBuffer<Fall>(models_.size(), "falls of scores");
  prototypes_before_ = DeviceBuffer<float>(static_cast<size_t>(clusters_ * d()), "the prototypes of the pass before");
  moves_ = DeviceBuffer<float>(count, "movements of prototypes");
  sampled_falls_ = DeviceBuffer<float>(models_.size() * kSampledRows, "falls of scores");
  sort_keys_ = DeviceBuffer<uint64_t>(2 * count, "the columns' order");
  sorted_prototypes_ = DeviceBuffer<uint32_t>(count, "the columns' order");
  column_of_ = DeviceBuffer<uint32_t>(count, "the columns' order");
  sort_scratch_ = DeviceBuffer<std::byte>(ColumnSort::bytes_for(columns), "the columns' order");
}

void CudaSession::make_room_for_open(int64_t most_clusters) {
  const auto models = static_cast<int64_t>(models_.size());
  numbers_ = DeviceBuffer<uint32_t>(kNumbers + 3 * models_.size(), "numbers of rows");
  open_.capacity = static_cast<uint32_t>(open_capacity(rows_together(), models));
  const auto rows = static_cast<size_t>(models * open_.capacity);
  open_rows_ = DeviceBuffer<OpenRow>(rows, "the open rows");
  open_.rows = open_rows_.data();
  open_.counts = numbers_.data() + kNumbers;
  if (!collects(shared_.plan, most_clusters, d())) return;
  open_values_ = DeviceBuffer<uint16_t>(rows * static_cast<size_t>(shared_.plan.padded_columns), "the open rows");
  open_found_ = DeviceBuffer<uint32_t>(rows, "the open rows");
  open_prototypes_ = DeviceBuffer<uint32_t>(rows * kMostCollected, "the open rows' candidates");
  open_.values = open_values_.data();
  open_.found = open_found_.data();
  open_.prototypes = open_prototypes_.data();
}

DeviceLabels CudaSession::labels_of(int slot) {
  if (boxed()) return unboxed_labels(slot);
  return {current_.data() + slot * stride_ * width_, width_};
}

PassRange CudaSession::range_of(int slot) const {
  const Model& m = models_[static_cast<size_t>(slot)];
  auto* bytes = const_cast<std::byte*>(prototypes_.data());
  PassRange range;
  range.slot = slot;
  range.first_pass = m.labelled ? 0 : 1;
  range.k = m.k;
  range.prototypes = bytes + static_cast<size_t>(m.first * d()) * prototype_bytes();
  range.sums = const_cast<long long*>(sums_.data()) + m.first * d() * shared_.terms.limbs;
  range.weights = const_cast<long long*>(weights_.data()) + m.first;
  range.counts = const_cast<long long*>(counts_.data()) + m.first;
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
  if (threads_ <= 1 || bytes * models_.size() < device::kLeastStagedLabels) return;
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
  if (!label_staging_) label_staging_ = device::make_label_staging(runtime(), bytes * models_.size(), threads_);
  const auto from = [&](size_t i) { return device::Address{const_cast<void*>(labels_of(wanted[i]).data)}; };
  label_staging_->fetch(bytes, to, from, stream_, "fetching labels");
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
  if (slots.size() > 1 && 2 * slots.size() > models_.size() && sums_.bytes() <= kMostBytes) fetch_statistics();
  fetch_labels(slots);
}

Labels CudaSession::take_labels(int slot) {
  labels(slot);
  Model& m = model(slot);
  m.labelled = m.labels_here = false;
  forget_margins();
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
  const std::vector<long long> sums = fetched(sums_);
  const std::vector<long long> weights = fetched(weights_);
  const std::vector<long long> counts = fetched(counts_);
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
  const AccumulateTask task = accumulate_task({}, shared_.slices->row(row, moved_row_, stream_));
  accumulate_row(task, range, 0, before, -1, stream_);
  accumulate_row(task, range, 0, label, 1, stream_);
  m.labels.write(row, 1, &label);
  if (boxed()) {
    set_boxed_label(box_task({}), slot, row, label, stream_);
  } else {
    forget_margin(row);
    auto* to = const_cast<std::byte*>(static_cast<const std::byte*>(labels_of(slot).data)) + row * width_;
    copy_to_device(to, reinterpret_cast<const std::byte*>(&label), static_cast<size_t>(width_), stream_, "a label");
  }
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
  relabel_rows(current_rows(0), slot, n(), table.data(), stream_);
  if (boxed()) forget_boxes(slot);
  forget_margins();
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
