#include "backend/device/problem_session.h"

#include <manymeans/error.h>

#include "core/label_width.h"
#include "core/rounding.h"
#include "data/gather.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace manymeans::device {
namespace {

constexpr int kMaxPasses = 64;       // of one batch
constexpr int kPassesTogether = 12;  // before the host asks which models go on
constexpr int64_t kLabelRows = 16;   // a model's labels begin at a multiple of it

template <class T>
size_t bytes_of(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

// `screens`: some labels were proved.
PassResult result_of(const PassCounters& counted, const ProblemModel& model, bool screens) {
  PassResult result;
  result.changed = static_cast<int64_t>(counted.changed);
  result.relocated = counted.empty > 0;
  result.hash_delta = static_cast<LabelSum>(counted.hash_high) << 64 | counted.hash_low;
  result.resolved = screens ? static_cast<int64_t>(counted.resolved) : model.rows;
  result.candidates = screens ? static_cast<int64_t>(counted.candidates) : model.rows * model.k;
  return result;
}

// Labels as wide as the device's.
Labels labels_of_width(int64_t rows, int width) {
  return Labels(rows, int64_t{1} << (8 * width));
}

}  // namespace

ProblemSession::ProblemSession(const Input& input, const RowSlices& slices, std::span<const ModelRows> models,
                               Parts parts)
    : input_(input),
      d_(input.points.d),
      type_(prototype_type(input.points.type)),
      queue_(std::move(parts.queue)),
      models_(models.size()),
      kernels_(std::move(parts.kernels)) {
  const Runtime& runtime = queue_->runtime();
  places_ = PinnedBytes(runtime, models.size() * sizeof(ProblemModel), "the models");
  int64_t labels = 0, clusters = 0, most = 1;
  for (size_t m = 0; m < models.size(); ++m) {
    ProblemModel& place = places_.as<ProblemModel>()[m] = {};
    place.first_row = models[m].first;
    place.rows = models[m].rows;
    place.first_label = labels;
    place.first_cluster = clusters;
    models_[m].k = models[m].k;
    labels += padded(models[m].rows, kLabelRows);
    clusters += models[m].k;
    most = std::max(most, models[m].k);
  }
  const auto hold = [&](Buffer& buffer, size_t bytes, const char* what) { buffer = Buffer(runtime, bytes, what); };
  const auto of_clusters = static_cast<size_t>(clusters);
  batch_.label_width = label_width(most);
  hold(places_there_, places_.bytes(), "the models");
  hold(controls_, models.size() * sizeof(PassControl), "the states of a pass");
  hold(labels_, static_cast<size_t>(labels * batch_.label_width), "the labels");
  hold(prototypes_, of_clusters * prototype_bytes(), "the prototypes");
  hold(before_, of_clusters * prototype_bytes(), "the prototypes before an update");
  hold(sums_, sum_values(clusters) * sizeof(int64_t), "the clusters' sums");
  hold(weights_, of_clusters * sizeof(int64_t), "the clusters' weights");
  hold(counts_, of_clusters * sizeof(int64_t), "the clusters' counts");
  prototypes_here_ = PinnedBytes(runtime, prototypes_.bytes(), "the prototypes");
  controls_here_ = PinnedBytes(runtime, controls_.bytes(), "the states of a pass");
  batch_.here = {places_.as<ProblemModel>(), models.size()};
  batch_.rows = slices.all();
  batch_.models = places_there_.at();
  batch_.controls = controls_.at();
  batch_.labels = labels_.at();
  batch_.prototypes = prototypes_.at();
  batch_.before = before_.at();
  batch_.sums = sums_.at();
  batch_.weights = weights_.at();
  batch_.counts = counts_.at();
}

ProblemSession::~ProblemSession() {
  queue().settle();
}

// Sends these models, and no others, as active ones, with their prototypes where these are given.
void ProblemSession::activate(std::span<const ModelPrototypes> models) {
  auto* const places = places_.as<ProblemModel>();
  for (size_t m = 0; m < models_.size(); ++m) places[m].active = 0;
  size_t first = prototypes_.bytes(), last = 0;  // bytes of the prototypes from the first model's to the last one's
  for (const ModelPrototypes& of : models) {
    ProblemModel& place = places[of.slot];
    place.active = 1;
    place.k = static_cast<int32_t>(model(of.slot).k);
    place.first_pass = model(of.slot).labelled ? 0 : 1;
    if (of.prototypes == nullptr) continue;
    const auto bytes = of.prototypes->bytes();
    const size_t at = static_cast<size_t>(place.first_cluster) * prototype_bytes();
    std::ranges::copy(bytes, prototypes_here_.data() + at);
    first = std::min(first, at);
    last = std::max(last, at + bytes.size());
  }
  queue().copy_to_device(places_there_.at(), places, places_.bytes(), "the models");
  if (first < last) {
    queue().copy_to_device(prototypes_.at(first), prototypes_here_.data() + first, last - first, "prototypes");
  }
  kernels_->begin(batch_);
}

// Clears the statistics of the models without labels.
void ProblemSession::clear_statistics(std::span<const PassModel> models) {
  const auto clear = [&](int64_t first, int64_t clusters) {
    const auto fill = [&](const Buffer& buffer, size_t from, size_t values, const char* what) {
      queue().fill(buffer.at(from * sizeof(int64_t)), std::byte{0}, values * sizeof(int64_t), what);
    };
    fill(sums_, sum_values(first), sum_values(clusters), "clearing sums");
    fill(weights_, static_cast<size_t>(first), static_cast<size_t>(clusters), "clearing weights");
    fill(counts_, static_cast<size_t>(first), static_cast<size_t>(clusters), "clearing counts");
  };
  if (std::ranges::none_of(models_, &Model::labelled)) {
    return clear(0, static_cast<int64_t>(weights_.bytes() / sizeof(int64_t)));
  }
  for (const PassModel& pass : models) {
    if (!model(pass.slot).labelled) clear(place(pass.slot).first_cluster, model(pass.slot).k);
  }
}

int ProblemSession::advance(std::span<PassModel> models, const PassLimits& limits) {
  kernels_->use_device();
  const int most = std::clamp(limits.passes, 1, kMaxPasses);
  const Settled settled(queue());
  all_sizes_ = {};
  auto* const controls = controls_here_.as<PassControl>();
  std::vector<ModelPrototypes> asked;
  for (const PassModel& pass : models) {
    asked.push_back({pass.slot, pass.prototypes});
    controls[pass.slot] = {};
    controls[pass.slot].changed = pass.limits.changed;
    controls[pass.slot].shifts = pass.limits.shifts;
    controls[pass.slot].relocates = pass.limits.relocates ? 1 : 0;
    Model& m = model(pass.slot);
    m.labels_here = m.statistics_here = m.updated = false;
  }
  clear_statistics(models);
  activate(asked);
  queue().copy_to_device(controls_.at(), controls, controls_.bytes(), "the states of a pass");
  const size_t of_pass = models_.size() * sizeof(PassCounters);
  const size_t bytes = static_cast<size_t>(most) * of_pass;
  counters_.reserve(queue().runtime(), bytes, "counters of passes");
  counters_here_.reserve(queue().runtime(), bytes, "counters of passes");
  queue().fill(counters_.at(), std::byte{0}, bytes, "clearing counters");
  const auto goes_on = [&](const PassModel& pass) { return controls[pass.slot].stopped == kGoesOn; };
  int queued = 0;
  do {
    const int end = std::min(most, queued + kPassesTogether);
    const HandingOver handing_over(queue().patience(), end - queued);
    for (; queued < end; ++queued) {
      batch_.counters = counters_.at(static_cast<size_t>(queued) * of_pass);
      kernels_->pass(batch_);
      kernels_->update(batch_, queued + 1 == most);
    }
    queue().copy_to_host(controls, controls_.at(), controls_.bytes(), "the states of a pass");
    queue().synchronize("passes of many problems", kPassesTogether);
  } while (queued < most && std::ranges::any_of(models, goes_on));
  queue().copy_to_host(counters_here_.data(), counters_.at(), static_cast<size_t>(queued) * of_pass,
                       "counters of passes");
  queue().synchronize("fetching counters");
  end_batch(models);
  return queued;
}

// Tells the models what happened.
void ProblemSession::end_batch(std::span<PassModel> models) {
  const auto* const controls = controls_here_.as<PassControl>();
  const auto* const counters = counters_here_.as<PassCounters>();
  const auto fetch_prototypes = [&](const Buffer& from) {
    queue().copy_to_host(prototypes_here_.data(), from.at(), from.bytes(), "fetching prototypes");
    queue().synchronize("fetching prototypes");
  };
  bool updated = false;
  fetch_prototypes(prototypes_);
  for (PassModel& pass : models) {
    const PassControl& control = controls[pass.slot];
    Model& m = model(pass.slot);
    m.labelled = true;
    m.updated = control.stopped == kByUpdate;
    updated |= m.updated;
    pass.earlier.clear();
    for (uint32_t p = 0; p < control.passes; ++p) {
      const PassCounters& counted = counters[p * models_.size() + static_cast<size_t>(pass.slot)];
      pass.result = result_of(counted, place(pass.slot), kernels_->screens());
      if (p + 1 < control.passes) pass.earlier.push_back(pass.result);
    }
    if (control.passes > 1 && !m.updated) {
      pass.last_prototypes = prototypes_in(prototypes_here_.data(), pass.slot);
    }
  }
  if (!updated) return;
  updated_.assign(prototypes_here_.data(), prototypes_here_.data() + prototypes_here_.bytes());
  fetch_prototypes(before_);
  for (PassModel& pass : models) {
    if (!model(pass.slot).updated || pass.earlier.empty()) continue;
    pass.last_prototypes = prototypes_in(prototypes_here_.data(), pass.slot);
  }
}

Matrix ProblemSession::prototypes_in(const std::byte* all, int slot) const {
  Matrix prototypes(models_[static_cast<size_t>(slot)].k, d_, type_);
  std::memcpy(prototypes.values<std::byte>().data(),
              all + static_cast<size_t>(place(slot).first_cluster) * prototype_bytes(), prototypes.bytes().size());
  return prototypes;
}

bool ProblemSession::update(int slot, const Matrix& /*before*/, Matrix& after) {
  if (!model(slot).updated) return false;
  after = prototypes_in(updated_.data(), slot);
  return true;
}

const Statistics& ProblemSession::statistics(int slot) {
  if (!model(slot).statistics_here) fetch_statistics(slot);
  return model(slot).statistics;
}

// The sizes of all models come together.
ClusterSizes ProblemSession::sizes_of(int slot) {
  const auto fetched = [&](const Buffer& from) {
    std::vector<int64_t> to(from.bytes() / sizeof(int64_t));
    queue().read_back(to.data(), from.at(), from.bytes(), "fetching the sizes of clusters");
    return to;
  };
  if (all_sizes_.weights.empty()) {
    kernels_->use_device();
    all_sizes_ = {fetched(weights_), fetched(counts_)};
  }
  const auto part = [&](const std::vector<int64_t>& all) {
    const auto first = all.begin() + place(slot).first_cluster;
    return std::vector<int64_t>(first, first + model(slot).k);
  };
  return {part(all_sizes_.weights), part(all_sizes_.counts)};
}

ClusterSizes ProblemSession::sizes(int slot) {
  const Model& m = model(slot);
  return m.statistics_here || !m.labelled ? Session::sizes(slot) : sizes_of(slot);
}

void ProblemSession::fetch_statistics(int slot) {
  kernels_->use_device();
  Model& m = model(slot);
  m.statistics = Statistics(m.k, d_, input_.limbs);
  m.statistics_here = true;
  if (!m.labelled) return;
  ClusterSizes sizes = sizes_of(slot);
  m.statistics.weights = std::move(sizes.weights);
  m.statistics.counts = std::move(sizes.counts);
  const Address from = sums_.at(sum_values(place(slot).first_cluster) * sizeof(int64_t));
  queue().read_back(m.statistics.sums.data(), from, bytes_of(m.statistics.sums), "fetching statistics");
}

void ProblemSession::send_statistics(int slot) {
  const Statistics& mine = model(slot).statistics;
  const int64_t first = place(slot).first_cluster;
  const Settled settled(queue());
  const auto send = [&](const Buffer& to, size_t at, const std::vector<int64_t>& from) {
    queue().copy_to_device(to.at(at * sizeof(int64_t)), from.data(), bytes_of(from), "statistics");
  };
  send(sums_, sum_values(first), mine.sums);
  send(weights_, static_cast<size_t>(first), mine.weights);
  send(counts_, static_cast<size_t>(first), mine.counts);
}

void ProblemSession::fetch(std::span<const int> /*slots*/, std::span<const int> labels_of) {
  fetch_labels(labels_of);
}

// Small ones come together, with all that lies between them.
void ProblemSession::fetch_labels(std::span<const int> slots) {
  constexpr size_t kMinAlone = size_t{64} << 10;  // bytes of a model whose copy costs more than its call
  std::vector<int> wanted;
  for (const int slot : slots) {
    if (model(slot).labelled && !model(slot).labels_here) wanted.push_back(slot);
  }
  if (wanted.empty()) return;
  kernels_->use_device();
  const auto [lowest, highest] = std::ranges::minmax(wanted);
  const int width = batch_.label_width;
  const int64_t first = place(lowest).first_label;
  const auto bytes = static_cast<size_t>((place(highest).first_label + place(highest).rows - first) * width);
  const bool alone = bytes >= kMinAlone * wanted.size();
  std::vector<std::byte> there(alone ? 0 : bytes);
  if (!alone) queue().read_back(there.data(), labels_.at(static_cast<size_t>(first * width)), bytes, "fetching labels");
  for (const int slot : wanted) {
    Model& m = model(slot);
    const int64_t rows = place(slot).rows;
    Labels mine = labels_of_width(rows, width);
    if (alone) {
      const Address from = labels_.at(static_cast<size_t>(place(slot).first_label * width));
      queue().read_back(mine.bytes().data(), from, mine.bytes().size(), "fetching labels");
    } else {
      std::copy_n(there.data() + (place(slot).first_label - first) * width, rows * width, mine.bytes().begin());
    }
    m.labels_here = true;
    if (label_width(m.k) == width) {
      m.labels = std::move(mine);
      continue;
    }
    m.labels = Labels(rows, m.k);
    copy_labels(mine, m.labels, 0);
  }
}

const Labels& ProblemSession::labels(int slot) {
  fetch_labels({&slot, 1});
  return model(slot).labels;
}

Labels ProblemSession::take_labels(int slot) {
  labels(slot);
  Model& m = model(slot);
  m.labels_here = m.labelled = false;
  return std::exchange(m.labels, Labels());
}

void ProblemSession::send_labels(int slot, int64_t row, std::span<const uint32_t> labels) {
  const int width = batch_.label_width;
  Labels there = labels_of_width(std::ssize(labels), width);
  there.write(0, std::ssize(labels), labels.data());
  const auto at = static_cast<size_t>((place(slot).first_label + row) * width);
  const Settled settled(queue());
  queue().copy_to_device(labels_.at(at), there.bytes().data(), there.bytes().size(), "labels");
}

std::vector<LabelSum> ProblemSession::label_sums(std::span<const int> slots, int64_t first_row) {
  if (first_row != 0 || slots.empty()) return {};
  std::vector<ModelPrototypes> asked;
  for (const int slot : slots) {
    if (!model(slot).labelled) return {};
    asked.push_back({slot, nullptr});
  }
  const std::vector<ProblemFacts> facts = ask_facts(asked);
  std::vector<LabelSum> sums;
  for (const int slot : slots) {
    const ProblemFacts& found = facts[static_cast<size_t>(slot)];
    sums.push_back(static_cast<LabelSum>(found.hash_high) << 64 | found.hash_low);
  }
  return sums;
}

// Returns the facts of these models at their slots.
std::vector<ProblemFacts> ProblemSession::ask_facts(std::span<const ModelPrototypes> models) {
  kernels_->use_device();
  std::vector<ProblemFacts> facts(models_.size());
  answers_.reserve(queue().runtime(), bytes_of(facts), "facts about rows");
  const Settled settled(queue());
  queue().fill(answers_.at(), std::byte{0}, bytes_of(facts), "clearing facts about rows");
  activate(models);
  kernels_->facts(batch_, answers_.at());
  queue().read_back(facts.data(), answers_.at(), bytes_of(facts), "measuring rows");
  return facts;
}

std::vector<int64_t> ProblemSession::ask_terms(std::span<const SumFormat> formats) {
  std::vector<int64_t> limbs(models_.size() * kDistanceLimbs);
  answers_.reserve(queue().runtime(), bytes_of(limbs), "sums of distances");
  const Settled settled(queue());
  queue().fill(answers_.at(), std::byte{0}, bytes_of(limbs), "clearing sums of distances");
  kernels_->terms(batch_, formats, answers_.at());
  queue().read_back(limbs.data(), answers_.at(), bytes_of(limbs), "summing distances");
  return limbs;
}

std::vector<double> ProblemSession::ranges(std::span<const int> slots) {
  kernels_->use_device();
  std::vector<double> all(models_.size() * 2 * static_cast<size_t>(d_));
  answers_.reserve(queue().runtime(), bytes_of(all), "ranges of columns");
  const Settled settled(queue());
  std::vector<ModelPrototypes> asked;
  for (const int slot : slots) asked.push_back({slot, nullptr});
  activate(asked);
  kernels_->ranges(batch_, answers_.at());
  queue().read_back(all.data(), answers_.at(), bytes_of(all), "measuring columns");
  std::vector<double> found;
  for (const int slot : slots) {
    const auto first = all.begin() + int64_t{slot} * 2 * d_;
    found.insert(found.end(), first, first + 2 * d_);
  }
  return found;
}

std::vector<InertiaSum> ProblemSession::inertias(std::span<const ModelPrototypes> models) {
  const std::vector<ProblemFacts> facts = ask_facts(models);
  std::vector<SumFormat> formats(models_.size());
  for (const ModelPrototypes& of : models) {
    const auto slot = static_cast<size_t>(of.slot);
    formats[slot] =
        SumFormat::make(limb_bits(place(of.slot).rows), kDistanceLimbs, std::bit_cast<double>(facts[slot].farthest));
  }
  const std::vector<int64_t> limbs = ask_terms(formats);
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& of : models) {
    const auto slot = static_cast<size_t>(of.slot);
    const auto first = limbs.begin() + static_cast<int64_t>(slot) * kDistanceLimbs;
    sums.push_back({std::bit_cast<double>(facts[slot].farthest), formats[slot], {first, first + kDistanceLimbs}});
  }
  return sums;
}

std::vector<int64_t> ProblemSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  const ModelPrototypes asked{slot, &prototypes};
  ask_facts({&asked, 1});
  const std::vector<int64_t> limbs = ask_terms(std::vector<SumFormat>(models_.size(), format));
  const auto first = limbs.begin() + int64_t{slot} * kDistanceLimbs;
  return {first, first + kDistanceLimbs};
}

std::vector<double> ProblemSession::distances(int slot, const Matrix& prototypes) {
  kernels_->use_device();
  std::vector<double> found(static_cast<size_t>(place(slot).rows));
  answers_.reserve(queue().runtime(), bytes_of(found), "distances");
  const Settled settled(queue());
  const ModelPrototypes asked{slot, &prototypes};
  activate({&asked, 1});
  kernels_->distances(batch_, answers_.at());
  queue().read_back(found.data(), answers_.at(), bytes_of(found), "measuring rows");
  return found;
}

std::vector<DistantRow> ProblemSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  const std::vector<double> d2 = distances(slot, prototypes);
  const Labels& label = labels(slot);
  std::vector<DistantRow> found;
  for (int64_t row = 0; row < std::ssize(d2); ++row) {
    if (d2[static_cast<size_t>(row)] > 0) found.push_back({d2[static_cast<size_t>(row)], row, label[row]});
  }
  const auto end = found.begin() + std::min(std::ssize(found), count);
  std::partial_sort(found.begin(), end, found.end(), DistantRow::is_farther);
  found.erase(end, found.end());
  return found;
}

// The engine asks this of sessions over all rows only.
void ProblemSession::transform(const Matrix& /*prototypes*/, Matrix& /*distances*/) {
  throw Error(ErrorCode::kInternal, "problems", "a session of many problems has no distances to all prototypes");
}

void ProblemSession::move_row(int slot, int64_t row, uint32_t label) {
  statistics(slot);
  Model& m = model(slot);
  const uint32_t before = labels(slot)[row];
  const Matrix x = gather_rows(rows_of_view(input_.host_points(), place(slot).first_row, place(slot).rows), {&row, 1});
  for (int64_t j = 0; j < d_; ++j) {
    const double value = type_ == DataType::kFloat64 ? x.values<double>()[static_cast<size_t>(j)]
                                                     : x.values<float>()[static_cast<size_t>(j)];
    int64_t limbs[kMaxLimbs] = {};
    add_term(value, input_.columns[static_cast<size_t>(j)], 1, limbs);
    for (int g = 0; g < input_.limbs; ++g) {
      m.statistics.row(before)[g * d_ + j] -= limbs[g];
      m.statistics.row(label)[g * d_ + j] += limbs[g];
    }
  }
  --m.statistics.weights[before], --m.statistics.counts[before];
  ++m.statistics.weights[label], ++m.statistics.counts[label];
  m.labels.write(row, 1, &label);
  send_statistics(slot);
  send_labels(slot, row, {&label, 1});
}

void ProblemSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  const Statistics after = statistics(slot).renumbered(new_label, kept);
  std::vector<uint32_t> all(static_cast<size_t>(place(slot).rows));
  labels(slot).read(0, place(slot).rows, all.data());
  for (uint32_t& label : all) label = new_label[label];
  Model& m = model(slot);
  m.k = std::ssize(kept);
  m.statistics = after;
  m.labels = Labels(place(slot).rows, m.k);
  m.labels.write(0, place(slot).rows, all.data());
  send_statistics(slot);
  send_labels(slot, 0, all);
}

}  // namespace manymeans::device
