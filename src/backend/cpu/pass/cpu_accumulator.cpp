#include "backend/cpu/pass/cpu_accumulator.h"

#include "core/data_type.h"
#include "core/philox_lanes.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPrefetchDistance = 12;  // changes; about what memory takes for one row

// Changes of a block, for each cluster, from which on sums of products take their rows cluster by cluster.
constexpr int64_t kSegmentPays = 64;

// Statistics of up to this many bytes are always acceptable.
constexpr int64_t kSmallStatistics = 64 << 20;

constexpr int64_t kWidenedRows = 64;  // of narrow types, at a time

// limbs += value * 2^shift. It carries, so that afterwards all touched limbs but the top one are in [0, 2^bits) and no
// number of flushes overflows one. The sum itself then bounds the top limb.
void add_shifted(int64_t value, int shift, const SumFormat& format, int64_t* limbs, int64_t stride) {
  const int bits = format.bits;
  const int top = format.limbs - 1;
  const int64_t mask = (int64_t{1} << bits) - 1;
  const int bit = shift % bits;
  int g = shift / bits;
  auto part = static_cast<int64_t>(static_cast<uint64_t>(value) << bit);
  if (g < top) {
    const int64_t low = limbs[g * stride] + (part & mask);
    limbs[g * stride] = low & mask;
    part = (value >> (bits - bit)) + (low >> bits);
    for (++g; g < top; ++g) {
      const int64_t middle = limbs[g * stride] + (part & mask);
      limbs[g * stride] = middle & mask;
      part = (part >> bits) + (middle >> bits);
    }
  }
  limbs[top * stride] += part;
}

// The first moved rows of a narrow type, widened.
struct WidenedRows {
  MovedRows moved;
  int64_t places[kWidenedRows];

  WidenedRows(const PointsView& points, const MovedRows& all, std::vector<float>& wide) : moved(all) {
    moved.count = std::min(all.count, kWidenedRows);
    moved.rows = places;
    std::iota(places, places + moved.count, 0);
    wide.resize(static_cast<size_t>(kWidenedRows * points.d));
    for (int64_t i = 0; i < moved.count; ++i) {
      widen(points.data, points.type, all.rows[i] * points.d, points.d, wide.data() + i * points.d);
    }
  }
};

}  // namespace

CpuAccumulator::CpuAccumulator(const CpuShared& shared, const SessionPlan& plan, std::span<const int64_t> k,
                               ThreadPool& pool)
    : shared_(shared),
      plan_(plan),
      distances_(shared),
      pool_(pool),
      models_(k.size()),
      scratch_(static_cast<size_t>(pool.size())) {
  // A thread that is alone needs no copy of the statistics, so a large one is no gain.
  const int64_t clusters = std::accumulate(k.begin(), k.end(), int64_t{0});
  const int64_t bytes = clusters * shared.units.stride * static_cast<int64_t>(sizeof(int64_t));
  const MemoryPlan& memory = shared.input.memory;
  const bool small =
      bytes <= (memory.limited ? memory.sums
                               : std::max(kSmallStatistics, static_cast<int64_t>(shared.input.points.bytes()) / 4));
  unit_sums_ = shared.units.fits && (pool.size() > 1 || small) && !(shared.input.counted && plan.by_label_order);
}

void CpuAccumulator::prepare() {
  const auto rows = static_cast<size_t>(plan_.tiles_per_search * shared_.plan.screen->tile_rows);
  for (Scratch& scratch : scratch_) {
    if (!scratch.old_labels.empty()) continue;
    scratch.old_labels.resize(rows);
    scratch.changed.resize(rows);
    scratch.wide_f32.resize(static_cast<size_t>(shared_.input.points.d));
    scratch.deltas.resize(models_);
    scratch.changes.resize(models_);
  }
}

void CpuAccumulator::prepare_model(const CpuModel& m) {
  if (plan_.by_label_order) return;
  for (Scratch& scratch : scratch_) prepare_delta(scratch.deltas[static_cast<size_t>(m.slot)], m.k);
}

void CpuAccumulator::forget(int slot) {
  for (Scratch& scratch : scratch_) {
    if (!scratch.deltas.empty()) scratch.deltas[static_cast<size_t>(slot)] = {};
  }
}

// Adds weight * values to `to` and takes them from `from` (null: nowhere).
template <class T>
void CpuAccumulator::add_values(const T* values, double weight, int64_t* to, int64_t* from) const {
  const Input& input = shared_.input;
  const auto terms = static_cast<int64_t>(input.columns.size());
  if (shared_.scales.fast) {
    const TermRow row{terms, input.limbs, weight, shared_.scales.top.data(), shared_.scales.radix, to, from};
    if constexpr (sizeof(T) == 8) {
      shared_.kernels.add_terms_f64(values, row);
    } else {
      shared_.kernels.add_terms_f32(values, row);
    }
    return;
  }
  for (int64_t j = 0; j < terms; ++j) {
    const double term = weight * static_cast<double>(values[j]);
    int64_t limbs[kMaxLimbs] = {};
    add_term(term, input.columns[static_cast<size_t>(j)], 1, limbs);
    for (int g = 0; g < input.limbs; ++g) {
      to[g * terms + j] += limbs[g];
      if (from != nullptr) from[g * terms + j] -= limbs[g];
    }
  }
}

// Adds one row's terms to `to` and takes them from `from` (null: nowhere).
void CpuAccumulator::add_row(int64_t row, Scratch& scratch, int64_t* to, int64_t* from) const {
  const PointsView& points = shared_.input.points;
  const Prototype& prototype = shared_.prototype;
  const double weight = shared_.input.weight(row);
  const double* x64 = static_cast<const double*>(points.data) + row * points.d;
  if (!prototype.euclidean) {
    scratch.terms.resize(shared_.input.columns.size());
    if (points.type == DataType::kFloat64) {
      prototype.f64.terms({x64, 1, points.d}, &weight, scratch.terms.data());
    } else {
      prototype.f32.terms({distances_.row_f32(row, scratch.wide_f32), 1, points.d}, &weight, scratch.terms.data());
    }
    add_values(scratch.terms.data(), 1.0, to, from);
  } else if (points.type == DataType::kFloat64) {
    add_values(x64, weight, to, from);
  } else {
    add_values(distances_.row_f32(row, scratch.wide_f32), weight, to, from);
  }
}

void CpuAccumulator::apply_change(const Change& change, Scratch& scratch, Statistics& statistics,
                                  std::vector<uint8_t>* touched) const {
  const int64_t weight = shared_.input.integer_weight(change.row);
  const auto to = static_cast<size_t>(change.to);
  const auto from = static_cast<size_t>(change.from);
  const bool leaves = change.from != kNoLabel;
  add_row(change.row, scratch, statistics.row(change.to), leaves ? statistics.row(change.from) : nullptr);
  statistics.weights[to] += weight;
  statistics.counts[to] += 1;
  if (touched != nullptr) (*touched)[to] = 1;
  if (!leaves) return;
  statistics.weights[from] -= weight;
  statistics.counts[from] -= 1;
  if (touched != nullptr) (*touched)[from] = 1;
}

LabelSum CpuAccumulator::hash_change(const Changes& changes, int64_t first) const {
  const int64_t count = changes.size() - first;
  const int64_t* rows = changes.rows.data() + first;
  const int64_t row = shared_.input.shard.first;
  return sum_of_label_terms(rows, row, changes.to.data() + first, count) -
         sum_of_label_terms(rows, row, changes.from.data() + first, count);
}

void CpuAccumulator::record_changes(CpuModel& m, const LabelledBlock& block, int w, PassResult& result) {
  Scratch& scratch = scratch_[static_cast<size_t>(w)];
  const uint32_t* now = block.labels;
  uint32_t* old = scratch.old_labels.data();
  if (m.labelled) {
    m.labels.read(block.first, block.count, old);
    if (std::equal(now, now + block.count, old)) return;
  } else {
    std::fill_n(old, block.count, kNoLabel);
  }
  Changes& changes = scratch.changes[static_cast<size_t>(m.slot)];
  const int64_t waiting = changes.size();  // of earlier blocks, by label order
  const int64_t changed = shared_.kernels.changed_labels({old, now, block.count}, scratch.changed.data());
  changes.append(block.first, std::span(scratch.changed).first(static_cast<size_t>(changed)), old, now);
  m.labels.write(block.first, block.count, now);
  result.changed += changes.size() - waiting;
  if (m.labelled) result.hash_delta += hash_change(changes, waiting);
  if (plan_.by_label_order) return;
  Delta& delta = scratch.deltas[static_cast<size_t>(m.slot)];
  if (!unit_sums_) {
    move_in_limbs(changes, scratch, delta, m.statistics);
  } else {
    if (shared_.input.counted) {
      changes.take_multiples(shared_.input, scratch.multiples);
      move_in_limbs(scratch.multiples, scratch, delta, m.statistics);
      scratch.multiples.clear();
    }
    move_in_units(changes, !m.labelled, scratch, delta.units, m.statistics);
  }
  changes.clear();
}

void CpuAccumulator::move_in_limbs(const Changes& changes, Scratch& scratch, Delta& delta, Statistics& statistics) {
  const bool alone = pool_.size() == 1;
  for (int64_t i = 0; i < changes.size(); ++i) {
    if (i + kPrefetchDistance < changes.size()) {
      distances_.prefetch_row(changes.rows[static_cast<size_t>(i + kPrefetchDistance)]);
    }
    apply_change(changes.at(i), scratch, alone ? statistics : delta.statistics, alone ? nullptr : &delta.touched);
  }
}

// Makes room for a thread's own sums.
void CpuAccumulator::prepare_delta(Delta& delta, int64_t k) const {
  const Input& input = shared_.input;
  if (unit_sums_) {
    if (delta.units.k() != k) delta.units = UnitDelta(k, shared_.units.stride);
    if (!input.counted) return;
  }
  if (pool_.size() > 1 && delta.statistics.k != k) {
    delta.statistics = shared_.empty_statistics(k);
    delta.touched.assign(static_cast<size_t>(k), 0);
  }
}

// The kernel on the points, or on widened copies of the first rows.
int64_t CpuAccumulator::move_some(const MovedRows& moved, const UnitSums& sums, Scratch& scratch) const {
  const PointsView& points = shared_.input.points;
  if (shared_.prototype.linear) return move_some_products(moved, sums, scratch);
  if (points.type == DataType::kFloat64) {
    return shared_.kernels.move_rows_f64(static_cast<const double*>(points.data), moved, sums);
  }
  if (points.type == DataType::kFloat32) {
    return shared_.kernels.move_rows_f32(static_cast<const float*>(points.data), moved, sums);
  }
  const WidenedRows rows(points, moved, scratch.wide_f32);
  return shared_.kernels.move_rows_f32(scratch.wide_f32.data(), rows.moved, sums);
}

// Moves rows of linear models.
int64_t CpuAccumulator::move_some_products(const MovedRows& moved, const UnitSums& sums, Scratch& scratch) const {
  const PointsView& points = shared_.input.points;
  ProductUnits units = shared_.units.products;
  scratch.products.resize(static_cast<size_t>(product_scratch(units.products, points.d)));
  units.scratch = scratch.products.data();
  if (points.type == DataType::kFloat64) {
    return shared_.kernels.move_products_f64(static_cast<const double*>(points.data), moved, sums, units);
  }
  if (points.type == DataType::kFloat32) {
    return shared_.kernels.move_products_f32(static_cast<const float*>(points.data), moved, sums, units);
  }
  const WidenedRows rows(points, moved, scratch.wide_f32);
  std::vector<double> weights;
  if (units.weights != nullptr) {
    for (int64_t i = 0; i < rows.moved.count; ++i) weights.push_back(units.weights[moved.rows[i]]);
    units.weights = weights.data();
  }
  return shared_.kernels.move_products_f32(scratch.wide_f32.data(), rows.moved, sums, units);
}

// The changes of a block, cluster by cluster.
void CpuAccumulator::move_segments(const Changes& changes, Scratch& scratch, UnitDelta& delta, Statistics& statistics) {
  const PointsView& points = shared_.input.points;
  const UnitSums sums = delta.sums_for(shared_.units, points.d);
  if (scratch.columns.size() == 0) {
    scratch.columns = AlignedBuffer<double>(static_cast<size_t>((points.d + 1) * kSegmentRows));
  }
  scratch.sorted.sort(changes, statistics.k);
  const std::vector<int64_t>& begin = scratch.sorted.begin;
  for (size_t list = 0; list + 1 < begin.size(); ++list) {
    const auto cluster = static_cast<int64_t>(list / 2);
    for (int64_t at = begin[list]; at < begin[list + 1]; at += kSegmentRows) {
      const int64_t count = std::min(kSegmentRows, begin[list + 1] - at);
      if (sums.terms[cluster] + count > sums.max_terms) {
        const std::lock_guard lock(flushing_);
        flush(delta, cluster, statistics, cluster, 1);
      }
      const bool leaves = list % 2 == 1;
      shared_.kernels.add_segment(static_cast<const float*>(points.data),
                                  {scratch.sorted.rows.data() + at, count, points.d, leaves, scratch.columns.data(),
                                   sums.sums + cluster * sums.stride},
                                  shared_.units.products);
      sums.terms[cluster] += static_cast<uint32_t>(count);
      sums.counts[cluster] += leaves ? -count : count;
    }
  }
}

// The integer weights of rows that were moved.
void CpuAccumulator::move_weights(const MovedRows& moved, int64_t count, UnitDelta& delta) const {
  if (shared_.units.products.weights == nullptr) return;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t weight = shared_.input.integer_weight(moved.rows[i]);
    delta.weights[moved.to[i]] += weight;
    if (moved.from != nullptr) delta.weights[moved.from[i]] -= weight;
  }
}

void CpuAccumulator::move_in_units(const Changes& changes, bool from_nowhere, Scratch& scratch, UnitDelta& delta,
                                   Statistics& statistics) {
  const bool float32 = shared_.input.points.type == DataType::kFloat32;
  if (shared_.units.products.rounders != nullptr && float32 && changes.size() >= kSegmentPays * statistics.k) {
    return move_segments(changes, scratch, delta, statistics);
  }
  const UnitSums sums = delta.sums_for(shared_.units, shared_.input.points.d);
  for (int64_t done = 0; done < changes.size();) {
    const uint32_t* from = from_nowhere ? nullptr : changes.from.data() + done;
    const uint32_t* to = changes.to.data() + done;
    const MovedRows moved{changes.rows.data() + done, from, to, changes.size() - done};
    const int64_t some = move_some(moved, sums, scratch);
    move_weights(moved, some, delta);
    done += some;
    if (done == changes.size()) break;
    const Change next = changes.at(done);
    for (const uint32_t cluster : {next.to, next.from}) {
      if (cluster == kNoLabel || sums.terms[cluster] < sums.max_terms) continue;
      const std::lock_guard lock(flushing_);
      flush(delta, cluster, statistics, cluster, 1);
    }
  }
}

// A term is a product, or what it was rounded by: contract, "Linear models".
void CpuAccumulator::flush_products(const int64_t* sums, int sign, int64_t* limbs) const {
  const ProductUnits& units = shared_.units.products;
  const auto terms = static_cast<int64_t>(shared_.input.columns.size());
  const auto places = static_cast<int64_t>(shared_.units.shifts.size());
  for (int64_t place = 0; place < places; ++place) {
    const int64_t term = 2 * (place % units.products) + place / units.products;
    for (int word = 0; word < units.words; ++word) {
      const int64_t sum = sums[word * places + place];
      if (sum == 0) continue;  // as padding is, and what lies above a term's highest bit
      const int shift = shared_.units.shifts[static_cast<size_t>(place)] + word * shared_.units.bits;
      add_shifted(sign * sum, shift, shared_.input.columns[static_cast<size_t>(term)], limbs + term, terms);
    }
  }
}

// Moves a cluster's sums in units, times `sign`, to the limbs of cluster `to`.
void CpuAccumulator::flush(UnitDelta& delta, int64_t cluster, Statistics& statistics, int64_t to, int sign) const {
  const auto at = static_cast<size_t>(cluster);
  const int64_t d = statistics.d;
  int64_t* sums = delta.sums.data() + cluster * shared_.units.stride;
  int64_t* limbs = statistics.row(to);
  if (shared_.prototype.linear) {
    flush_products(sums, sign, limbs);
  } else {
    for (int64_t j = 0; j < d; ++j) {
      const auto column = static_cast<size_t>(j);
      add_shifted(sign * sums[j], shared_.units.shifts[column], shared_.input.columns[column], limbs + j, d);
    }
  }
  std::fill_n(sums, shared_.units.stride, 0);
  const int64_t count = sign * std::exchange(delta.counts[at], 0);
  const int64_t weight = sign * std::exchange(delta.weights[at], 0);
  statistics.weights[static_cast<size_t>(to)] += shared_.units.products.weights == nullptr ? count : weight;
  statistics.counts[static_cast<size_t>(to)] += count;
  delta.terms[at] = 0;
}

void CpuAccumulator::merge_deltas(CpuModel& m) {
  if (plan_.by_label_order || (pool_.size() == 1 && !unit_sums_)) return;
  const bool in_limbs = pool_.size() > 1 && (!unit_sums_ || shared_.input.counted);
  const auto merge_limbs = [&](Delta& delta, int64_t k) {
    const auto at = static_cast<size_t>(k);
    if (delta.touched[at] == 0) return;
    const int64_t values = m.statistics.limbs * m.statistics.d;
    int64_t* from = delta.statistics.row(k);
    int64_t* to = m.statistics.row(k);
    for (int64_t i = 0; i < values; ++i) to[i] += from[i];
    std::fill_n(from, values, 0);
    m.statistics.weights[at] += std::exchange(delta.statistics.weights[at], 0);
    m.statistics.counts[at] += std::exchange(delta.statistics.counts[at], 0);
    delta.touched[at] = 0;
  };
  const int64_t grain = std::max<int64_t>(1, 65536 / (m.statistics.limbs * m.statistics.d));
  const auto merge = [&](int, int64_t first, int64_t last) {
    for (Scratch& scratch : scratch_) {
      Delta& delta = scratch.deltas[static_cast<size_t>(m.slot)];
      for (int64_t k = first; k < last; ++k) {
        if (in_limbs) merge_limbs(delta, k);
        if (unit_sums_ && delta.units.terms[static_cast<size_t>(k)] != 0) flush(delta.units, k, m.statistics, k, 1);
      }
    }
  };
  if (m.k <= grain) {
    merge(0, 0, m.k);
  } else {
    pool_.for_each_range(m.k, grain, merge);
  }
}

// Changes by cluster: cluster k has rows[begin[k]] .. rows[begin[k + 1] - 1], which come or leave.
struct CpuAccumulator::ByCluster {
  std::vector<int64_t> begin;
  std::vector<int64_t> rows;
  std::vector<uint32_t> leaves;
};

CpuAccumulator::ByCluster CpuAccumulator::sort_changes(const CpuModel& m) {
  ByCluster sorted;
  sorted.begin.resize(static_cast<size_t>(m.k) + 1);
  const auto for_each_entry = [&](auto&& use) {
    for (const Scratch& scratch : scratch_) {
      const Changes& changes = scratch.changes[static_cast<size_t>(m.slot)];
      for (int64_t i = 0; i < changes.size(); ++i) {
        const Change change = changes.at(i);
        use(change.to, change.row, 0);
        if (change.from != kNoLabel) use(change.from, change.row, 1);
      }
    }
  };
  for_each_entry([&](uint32_t cluster, int64_t, uint32_t) { ++sorted.begin[cluster + 1]; });
  std::partial_sum(sorted.begin.begin(), sorted.begin.end(), sorted.begin.begin());
  sorted.rows.resize(static_cast<size_t>(sorted.begin.back()));
  sorted.leaves.resize(sorted.rows.size());
  std::vector<int64_t> next(sorted.begin.begin(), sorted.begin.end() - 1);
  for_each_entry([&](uint32_t cluster, int64_t row, uint32_t leaves) {
    const auto at = static_cast<size_t>(next[cluster]++);
    sorted.rows[at] = row;
    sorted.leaves[at] = leaves;
  });
  for (Scratch& scratch : scratch_) scratch.changes[static_cast<size_t>(m.slot)].clear();
  return sorted;
}

// One cluster's changes: rows that come are summed in "cluster" 0 of `space`, rows that leave in 1.
void CpuAccumulator::apply_cluster_in_units(const ByCluster& sorted, int64_t k, Scratch& scratch, UnitDelta& space,
                                            Statistics& statistics) const {
  const UnitSums sums = space.sums_for(shared_.units, shared_.input.points.d);
  const int64_t end = sorted.begin[static_cast<size_t>(k) + 1];
  for (int64_t done = sorted.begin[static_cast<size_t>(k)]; done < end;) {
    const MovedRows moved{sorted.rows.data() + done, nullptr, sorted.leaves.data() + done, end - done};
    const int64_t some = move_some(moved, sums, scratch);
    move_weights(moved, some, space);
    done += some;
    if (done < end && std::max(sums.terms[0], sums.terms[1]) < sums.max_terms) continue;
    flush(space, 0, statistics, k, 1);
    flush(space, 1, statistics, k, -1);
  }
}

void CpuAccumulator::apply_cluster_in_limbs(const ByCluster& sorted, int64_t k, Scratch& scratch,
                                            Statistics& statistics, std::vector<int64_t>& leaving) const {
  const auto at = static_cast<size_t>(k);
  std::fill(leaving.begin(), leaving.end(), 0);  // sums of the rows that leave
  for (int64_t e = sorted.begin[at]; e < sorted.begin[at + 1]; ++e) {
    const int64_t row = sorted.rows[static_cast<size_t>(e)];
    const bool leaves = sorted.leaves[static_cast<size_t>(e)] != 0;
    const int64_t weight = shared_.input.integer_weight(row);
    add_row(row, scratch, leaves ? leaving.data() : statistics.row(k), nullptr);
    statistics.weights[at] += leaves ? -weight : weight;
    statistics.counts[at] += leaves ? -1 : 1;
  }
  int64_t* sums = statistics.row(k);
  for (size_t i = 0; i < leaving.size(); ++i) sums[i] -= leaving[i];
}

void CpuAccumulator::apply_by_label(CpuModel& m) {
  const ByCluster sorted = sort_changes(m);
  const auto values = static_cast<size_t>(m.statistics.limbs * m.statistics.d);
  pool_.for_each_range(m.k, 16, [&](int w, int64_t first, int64_t last) {
    Scratch& scratch = scratch_[static_cast<size_t>(w)];
    UnitDelta space(unit_sums_ ? 2 : 0, shared_.units.stride);
    std::vector<int64_t> leaving(unit_sums_ ? 0 : values);
    for (int64_t k = first; k < last; ++k) {
      if (unit_sums_) {
        apply_cluster_in_units(sorted, k, scratch, space, m.statistics);
      } else {
        apply_cluster_in_limbs(sorted, k, scratch, m.statistics, leaving);
      }
    }
  });
}

}  // namespace manymeans
