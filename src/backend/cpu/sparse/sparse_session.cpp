#include "backend/cpu/sparse/sparse_session.h"

#include "core/data_type.h"
#include "core/philox_lanes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kRows = 256;      // that a thread labels at a time
constexpr int64_t kMaxRows = 4096;  // whose distances it computes

}  // namespace

SparseSession::SparseSession(const SparseShared& shared, std::span<const int64_t> k, int threads)
    : shared_(shared),
      pool_(threads, shared.options.abort),
      screen_(shared),
      adders_(shared.input.columns.begin(), shared.input.columns.end()),
      workers_(static_cast<size_t>(pool_.size())),
      models_(k.size()) {
  for (size_t slot = 0; slot < k.size(); ++slot) models_[slot].k = k[slot];
}

int SparseSession::advance(std::span<PassModel> models, const PassLimits&) {
  for (PassModel& pass : models) assign(pass);
  return 1;
}

void SparseSession::assign(PassModel& pass) {
  Model& m = model(pass.slot);
  const bool first_pass = m.labels.empty();
  if (first_pass) {
    m.labels = Labels(n(), m.k);
    m.statistics = Statistics(m.k, d(), shared_.input.limbs);
  }
  screen_.take(*pass.prototypes, true, pool_);
  for (Worker& worker : workers_) worker.result = {};
  pool_.for_each_range(n(), kRows, [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    label_block(m, first, last, worker);
    worker.old_labels.assign(kRows, kNoLabel);
    if (!first_pass) m.labels.read(first, last - first, worker.old_labels.data());
    record_changes(first, last, worker);
    m.labels.write(first, last - first, worker.labels.data());
  });
  pass.result = {};
  for (const Worker& worker : workers_) pass.result += worker.result;
  accumulate(m);
}

void SparseSession::label_block(const Model& m, int64_t first, int64_t last, Worker& worker) const {
  worker.labels.resize(kRows);  // the kernel below reads whole vectors
  if (m.k == 1) {
    std::fill(worker.labels.begin(), worker.labels.end(), 0);
    worker.result.certified += last - first;
    return;
  }
  for (int64_t row = first; row < last; ++row) {
    worker.scratch.row.read(shared_.view, row);
    worker.labels[static_cast<size_t>(row - first)] = screen_.nearest(worker.scratch, worker.result);
  }
}

void SparseSession::record_changes(int64_t first, int64_t last, Worker& worker) const {
  worker.places.resize(kRows);
  const int64_t changed = shared_.kernels.changed_labels({worker.old_labels.data(), worker.labels.data(), last - first},
                                                         worker.places.data());
  const std::span places = std::span(worker.places).first(static_cast<size_t>(changed));
  const auto before = static_cast<size_t>(worker.changes.size());
  worker.changes.append(first, places, worker.old_labels.data(), worker.labels.data());
  worker.result.changed += changed;
  if (changed == 0 || worker.old_labels[0] == kNoLabel) return;  // none, or the first pass
  const int64_t* rows = worker.changes.rows.data() + before;
  const int64_t first_row = shared_.input.shard.first;
  worker.result.hash_delta += sum_of_label_terms(rows, first_row, worker.changes.to.data() + before, changed) -
                              sum_of_label_terms(rows, first_row, worker.changes.from.data() + before, changed);
}

// A row's zeros add zero to every sum.
void SparseSession::add_row(Statistics& statistics, int64_t row, uint32_t cluster, int sign,
                            WideSparseRow& space) const {
  const double weight = shared_.input.weight(row);
  const int limbs = statistics.limbs;
  int64_t* sums = statistics.row(cluster);
  space.read(shared_.view, row);
  for (size_t i = 0; i < space.values.size(); ++i) {
    const int64_t column = space.columns[i];
    int64_t term[kMaxLimbs] = {};
    adders_[static_cast<size_t>(column)].add(weight * space.values[i], sign, term);
    for (int g = 0; g < limbs; ++g) sums[g * d() + column] += term[g];
  }
  statistics.weights[cluster] += sign * shared_.input.integer_weight(row);
  statistics.counts[cluster] += sign;
}

// Cluster by cluster, so that every sum has one owner and no thread needs a copy of them.
void SparseSession::accumulate(Model& m) {
  Changes all;
  for (Worker& worker : workers_) {
    const Changes& some = worker.changes;
    all.rows.insert(all.rows.end(), some.rows.begin(), some.rows.end());
    all.from.insert(all.from.end(), some.from.begin(), some.from.end());
    all.to.insert(all.to.end(), some.to.begin(), some.to.end());
    worker.changes.clear();
  }
  if (all.size() == 0) return;
  SortedChanges sorted;
  sorted.sort(all, m.k);
  pool_.for_each_range(m.k, 1, [&](int w, int64_t first, int64_t last) {
    WideSparseRow& space = workers_[static_cast<size_t>(w)].scratch.row;
    for (int64_t list = 2 * first; list < 2 * last; ++list) {
      const auto cluster = static_cast<uint32_t>(list / 2);
      const auto begin = sorted.begin[static_cast<size_t>(list)], end = sorted.begin[static_cast<size_t>(list) + 1];
      for (int64_t at = begin; at < end; ++at) {
        add_row(m.statistics, sorted.rows[static_cast<size_t>(at)], cluster, list % 2 == 0 ? 1 : -1, space);
      }
    }
  });
}

Labels SparseSession::take_labels(int slot) {
  Labels taken = std::move(model(slot).labels);
  model(slot).labels = Labels();
  return taken;
}

void SparseSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& m = model(slot);
  WideSparseRow& space = workers_[0].scratch.row;
  add_row(m.statistics, row, m.labels[row], -1, space);
  add_row(m.statistics, row, label, 1, space);
  m.labels.write(row, 1, &label);
}

void SparseSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  Model& m = model(slot);
  const auto k = static_cast<int64_t>(kept.size());
  Labels labels(n(), k);
  pool_.for_each_range(
      n(), 4096, [&](int, int64_t first, int64_t last) { renumber_labels(m.labels, first, last, new_label, labels); });
  m.k = k;
  m.labels = std::move(labels);
  m.statistics = m.statistics.renumbered(new_label, kept);
}

// Rows of one cluster together, so that its prototype is read once for some of them.
void SparseSession::measure_block(const Model& m, const Matrix& prototypes, int64_t first, int64_t last,
                                  Worker& worker) const {
  const auto count = static_cast<size_t>(last - first);
  worker.labels.resize(std::max(count, static_cast<size_t>(kRows)));
  m.labels.read(first, last - first, worker.labels.data());
  worker.order.resize(count);
  std::iota(worker.order.begin(), worker.order.end(), 0);
  const auto label = [&](int64_t i) { return worker.labels[static_cast<size_t>(i)]; };
  std::ranges::stable_sort(worker.order, {}, label);
  worker.d2.resize(count);
  for (size_t at = 0; at < count;) {
    size_t end = at + 1;
    while (end < count && end - at < static_cast<size_t>(kSparseRows) &&
           label(worker.order[end]) == label(worker.order[at])) {
      ++end;
    }
    measure_rows(std::span(worker.order).subspan(at, end - at), first, prototypes, worker);
    at = end;
  }
}

// Of some rows, counted from the first of a block, that have one label.
void SparseSession::measure_rows(std::span<const int64_t> rows, int64_t first, const Matrix& prototypes,
                                 Worker& worker) const {
  SparseTerms terms[kSparseRows];
  double d2[kSparseRows];
  worker.rows.resize(static_cast<size_t>(kSparseRows));
  for (size_t i = 0; i < rows.size(); ++i) {
    WideSparseRow& row = worker.rows[i];
    row.read(shared_.view, first + rows[i]);
    terms[i] = {row.values.data(), row.columns.data(), row.count()};
  }
  const uint32_t k = worker.labels[static_cast<size_t>(rows[0])];
  as_float_type(prototypes.type(), [&]<class T>(T) {
    const T* c = prototypes.values<T>().data() + k * d();
    const SparseDistances<T> task{terms, static_cast<int64_t>(rows.size()), c, d(), d2};
    if constexpr (sizeof(T) == 8) {
      shared_.kernels.sparse.distances_f64(task);
    } else {
      shared_.kernels.sparse.distances_f32(task);
    }
  });
  for (size_t i = 0; i < rows.size(); ++i) worker.d2[static_cast<size_t>(rows[i])] = d2[i];
}

template <class Body>
void SparseSession::for_each_distance(int slot, const Matrix& prototypes, Body&& body) {
  const Model& m = model(slot);
  // Most groups are then full, and no thread waits for long.
  const int64_t grain = std::clamp(2 * kSparseRows * m.k, kRows, kMaxRows);
  pool_.for_each_range(n(), grain, [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    measure_block(m, prototypes, first, last, worker);
    body(w, first, last, worker.d2.data());
  });
}

std::vector<double> SparseSession::distances(int slot, const Matrix& prototypes) {
  std::vector<double> result(static_cast<size_t>(n()));
  for_each_distance(slot, prototypes, [&](int, int64_t first, int64_t last, const double* d2) {
    std::copy_n(d2, last - first, result.data() + first);
  });
  return result;
}

std::vector<DistantRow> SparseSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  const std::vector<double> d2 = distances(slot, prototypes);
  std::vector<DistantRow> rows;
  for (int64_t i = 0; i < n(); ++i) {
    const double distance = d2[static_cast<size_t>(i)];
    if (distance > 0 && shared_.input.weight(i) > 0) rows.push_back({distance, i, model(slot).labels[i]});
  }
  const auto most = std::min(static_cast<int64_t>(rows.size()), count);
  std::partial_sort(rows.begin(), rows.begin() + most, rows.end(), DistantRow::is_farther);
  rows.resize(static_cast<size_t>(most));
  return rows;
}

// Distances are the work, so they are kept between the search for the farthest and the sum.
std::vector<InertiaSum> SparseSession::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& asked : models) {
    const std::vector<double> d2 = distances(asked.slot, *asked.prototypes);
    double farthest = 0;
    for (int64_t i = 0; i < n(); ++i) {
      if (shared_.input.weight(i) > 0) farthest = std::max(farthest, d2[static_cast<size_t>(i)]);
    }
    InertiaSum sum{farthest, distance_format(shared_.input, farthest), {}};
    sum.limbs.resize(static_cast<size_t>(sum.format.limbs));
    const TermAdder adder(sum.format);
    for (int64_t i = 0; i < n(); ++i) {
      adder.add(shared_.input.weight(i) * d2[static_cast<size_t>(i)], 1, sum.limbs.data());
    }
    sums.push_back(std::move(sum));
  }
  return sums;
}

std::vector<int64_t> SparseSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  const std::vector<double> d2 = distances(slot, prototypes);
  std::vector<int64_t> limbs(static_cast<size_t>(format.limbs));
  const TermAdder adder(format);
  for (int64_t i = 0; i < n(); ++i) {
    adder.add(shared_.input.weight(i) * d2[static_cast<size_t>(i)], 1, limbs.data());
  }
  return limbs;
}

void SparseSession::transform(const Matrix& prototypes, Matrix& distances) {
  const int64_t k = prototypes.rows();
  as_float_type(prototypes.type(), [&]<class T>(T) {
    pool_.for_each_range(n(), 1, [&](int w, int64_t row, int64_t) {
      SparseScratch& scratch = workers_[static_cast<size_t>(w)].scratch;
      scratch.row.read(shared_.view, row);
      const T* x = scratch.fill<T>(d());
      for (int64_t j = 0; j < k; ++j) {
        const T* c = prototypes.values<T>().data() + j * d();
        double d2 = 0;
        if constexpr (sizeof(T) == 8) {
          d2 = shared_.kernels.distance_f64(x, c, d());
        } else {
          d2 = shared_.kernels.distance_f32(x, c, d());
        }
        distances.values<T>()[static_cast<size_t>(row * k + j)] = static_cast<T>(std::sqrt(d2));
      }
      scratch.clear<T>();
    });
  });
}

}  // namespace manymeans
