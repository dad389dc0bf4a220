// Accumulate: only rows whose label changed touch the order-free sums.
#include "backend/cpu/cpu_session.h"

#include <algorithm>
#include <numeric>

namespace manymeans {
namespace {

constexpr size_t kPrefetchDistance = 12;  // changes; about what memory takes for one row

}  // namespace

TermScales::TermScales(const Input& input) : radix(std::ldexp(1.0, input.bits)) {
  fast = input.bits <= 50;
  for (const SumFormat& format : input.columns) {
    const int power = format.shift - (format.limbs - 1) * format.bits;
    fast = fast && std::abs(power) < 1022;
    top.push_back(fast ? std::ldexp(1.0, power) : 0);
  }
}

// Adds one row's terms to `to` and takes them from `from` (null: nowhere).
void CpuSession::add_row(int64_t row, Worker& worker, int64_t* to, int64_t* from) const {
  const Input& input = shared_.input;
  const int64_t d = input.points.d;
  const bool wide = input.points.type == DataType::kFloat64;
  const double* x64 = static_cast<const double*>(input.points.data) + row * d;
  const float* x32 = wide ? nullptr : row_f32(row, worker);
  const double weight = input.weight(row);
  if (shared_.scales.fast) {
    const TermRow terms{d, input.limbs, weight, shared_.scales.top.data(), shared_.scales.radix, to, from};
    if (wide) {
      shared_.kernels.add_terms_f64(x64, terms);
    } else {
      shared_.kernels.add_terms_f32(x32, terms);
    }
    return;
  }
  for (int64_t j = 0; j < d; ++j) {
    const double term = weight * (wide ? x64[j] : static_cast<double>(x32[j]));
    int64_t limbs[kMaxLimbs] = {};
    add_term(term, input.columns[static_cast<size_t>(j)], 1, limbs);
    for (int g = 0; g < input.limbs; ++g) {
      to[g * d + j] += limbs[g];
      if (from != nullptr) from[g * d + j] -= limbs[g];
    }
  }
}

void CpuSession::apply_change(const Change& change, Worker& worker, Statistics& statistics,
                              std::vector<uint8_t>* touched) const {
  const int64_t weight = shared_.input.integer_weight(change.row);
  const auto to = static_cast<size_t>(change.to);
  const auto from = static_cast<size_t>(change.from);
  const bool leaves = change.from != kNoLabel;
  add_row(change.row, worker, statistics.row(change.to), leaves ? statistics.row(change.from) : nullptr);
  statistics.weights[to] += weight;
  statistics.counts[to] += 1;
  if (touched != nullptr) (*touched)[to] = 1;
  if (!leaves) return;
  statistics.weights[from] -= weight;
  statistics.counts[from] -= 1;
  if (touched != nullptr) (*touched)[from] = 1;
}

// Rows that change lie far apart, so the hardware does not foresee them, and waiting for them was three quarters of
// the time of their sums (16 models of 200k x 16).
void CpuSession::prefetch_row(int64_t row) const {
  constexpr int64_t kLine = 64;
  constexpr int64_t kMostLines = 8;  // the hardware follows from there
  const PointsView& points = shared_.input.points;
  const auto bytes = points.d * static_cast<int64_t>(size_of(points.type));
  const char* first = static_cast<const char*>(points.data) + row * bytes;
  for (int64_t at = 0; at < std::min(bytes, kMostLines * kLine); at += kLine) __builtin_prefetch(first + at);
}

// Compares the worker's labels with those of the pass before, stores them, and accumulates the difference.
void CpuSession::record_changes(int slot, const Group& group, int worker_index, PassResult& result) {
  Worker& worker = workers_[static_cast<size_t>(worker_index)];
  Model& m = model(slot);
  const uint32_t* now = worker.labels.data();
  uint32_t* old = worker.old_labels.data();
  if (m.labelled) {
    m.labels.read(group.first_row, group.rows, old);
    if (std::equal(now, now + group.rows, old)) return;
  } else {
    std::fill_n(old, group.rows, kNoLabel);
  }
  std::vector<Change>& changes = worker.changes[static_cast<size_t>(slot)];
  const size_t waiting = changes.size();  // of earlier groups, by label order
  for (int64_t i = 0; i < group.rows; ++i) {
    if (now[i] != old[i]) changes.push_back({group.first_row + i, old[i], now[i]});
  }
  m.labels.write(group.first_row, group.rows, now);
  result.changed += static_cast<int64_t>(changes.size() - waiting);
  if (m.labelled) {
    for (size_t i = waiting; i < changes.size(); ++i) {
      const Change& change = changes[i];
      result.hash_delta += label_term(change.row, change.to) - label_term(change.row, change.from);
    }
  }
  if (plan_.by_label_order) return;
  Delta* delta = pool_.size() == 1 ? nullptr : &worker.deltas[static_cast<size_t>(slot)];
  Statistics& statistics = delta == nullptr ? m.statistics : delta->statistics;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (i + kPrefetchDistance < changes.size()) prefetch_row(changes[i + kPrefetchDistance].row);
    apply_change(changes[i], worker, statistics, delta == nullptr ? nullptr : &delta->touched);
  }
  changes.clear();
}

// Adds what every thread changed, cluster by cluster, and clears it.
void CpuSession::merge_deltas(std::span<const PassModel> models) {
  if (pool_.size() == 1 || plan_.by_label_order) return;
  const auto merge_cluster = [&](Model& m, int slot, int64_t k) {
    const int64_t values = m.statistics.limbs * m.statistics.d;
    const auto at = static_cast<size_t>(k);
    for (Worker& worker : workers_) {
      Delta& delta = worker.deltas[static_cast<size_t>(slot)];
      if (delta.touched[at] == 0) continue;
      int64_t* from = delta.statistics.row(k);
      int64_t* to = m.statistics.row(k);
      for (int64_t i = 0; i < values; ++i) to[i] += from[i];
      std::fill_n(from, values, 0);
      m.statistics.weights[at] += std::exchange(delta.statistics.weights[at], 0);
      m.statistics.counts[at] += std::exchange(delta.statistics.counts[at], 0);
      delta.touched[at] = 0;
    }
  };
  for (const PassModel& active : models) {
    Model& m = model(active.slot);
    const int64_t grain = std::max<int64_t>(1, 65536 / (m.statistics.limbs * m.statistics.d));
    const auto merge = [&](int, int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) merge_cluster(m, active.slot, k);
    };
    if (m.k <= grain) {
      merge(0, 0, m.k);
    } else {
      pool_.for_each_range(m.k, grain, merge);
    }
  }
}

// The same from lists of changes: sorted by cluster, so that every cluster's sums have one owner and no thread
// needs a copy of them.
void CpuSession::apply_by_label(int slot) {
  Model& m = model(slot);
  struct Entry {
    int64_t row;
    bool leaves;
  };
  std::vector<int64_t> begin(static_cast<size_t>(m.k) + 1);
  const auto for_each_entry = [&](auto&& use) {
    for (const Worker& worker : workers_) {
      for (const Change& change : worker.changes[static_cast<size_t>(slot)]) {
        use(change.to, Entry{change.row, false});
        if (change.from != kNoLabel) use(change.from, Entry{change.row, true});
      }
    }
  };
  for_each_entry([&](uint32_t cluster, Entry) { ++begin[cluster + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Entry> entries(static_cast<size_t>(begin.back()));
  std::vector<int64_t> next(begin.begin(), begin.end() - 1);
  for_each_entry([&](uint32_t cluster, Entry entry) { entries[static_cast<size_t>(next[cluster]++)] = entry; });
  for (Worker& worker : workers_) worker.changes[static_cast<size_t>(slot)].clear();

  const int64_t values = m.statistics.limbs * m.statistics.d;
  pool_.for_each_range(m.k, 16, [&](int worker_index, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(worker_index)];
    std::vector<int64_t> leaving(static_cast<size_t>(values));  // sums of the rows that leave
    for (int64_t k = first; k < last; ++k) {
      const auto at = static_cast<size_t>(k);
      std::fill(leaving.begin(), leaving.end(), 0);
      for (int64_t e = begin[at]; e < begin[at + 1]; ++e) {
        const Entry& entry = entries[static_cast<size_t>(e)];
        const int64_t weight = shared_.input.integer_weight(entry.row);
        add_row(entry.row, worker, entry.leaves ? leaving.data() : m.statistics.row(k), nullptr);
        m.statistics.weights[at] += entry.leaves ? -weight : weight;
        m.statistics.counts[at] += entry.leaves ? -1 : 1;
      }
      int64_t* row = m.statistics.row(k);
      for (int64_t i = 0; i < values; ++i) row[i] -= leaving[static_cast<size_t>(i)];
    }
  });
}

}  // namespace manymeans
