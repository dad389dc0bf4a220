// Rows whose label cannot have changed since the pass before are not looked at; the others are gathered into tiles.
#include "backend/cpu/pass/cpu_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPrefetchRows = 8;

}  // namespace

void CpuSession::follow_prototypes(std::span<const PassModel> models, std::span<const Target> targets) {
  if (!plan_.carry_bounds) return;
  for (Worker& worker : workers_) worker.trials.assign(models_.size(), {});
  const BoundsFrame frame{&shared_.kernels, shared_.input.points.n, shared_.packed.frame().scale,
                          shared_.options.tuning.cpu.bound_scale};
  for (size_t i = 0; i < models.size(); ++i) {
    Model& m = model(models[i].slot);
    make_room_for_bounds(m);
    m.carries = m.policy.carries() && targets[i].packed.screenable;
    if (!m.policy.carries()) m.bounds = {};
    if (!m.labelled || !m.carries) m.bounds.forget();
    if (m.carries) m.bounds.follow(*models[i].prototypes, m.labels, targets[i].packed.repeated, frame, pool_);
  }
}

// A model that is to carry bounds from now on and finds no room for them never will.
void CpuSession::make_room_for_bounds(Model& m) {
  if (!m.policy.carries() || m.bounds.allocated()) return;
  const int64_t others =
      std::count_if(models_.begin(), models_.end(), [](const Model& one) { return one.bounds.allocated(); });
  if (others >= plan_.bounded_models) {
    m.policy.refuse();
    shared_.bounds_log->refused(shared_.input.points.n * CarriedBounds::kBytesPerRow);
  } else if (shared_.plan.bounds == BoundsUse::kWhenTheyPay && !std::exchange(m.began, true)) {
    shared_.bounds_log->began(m.passes + 1, m.changed_share);
  }
}

// What a pass teaches about the next one.
void CpuSession::learn_from_pass(const PassModel& active) {
  Model& m = model(active.slot);
  const int64_t rows = shared_.input.points.n;
  ++m.passes;
  m.changed_share = static_cast<double>(active.result.changed) / static_cast<double>(rows);
  if (!plan_.carry_bounds) return;
  const bool known = m.carries && m.bounds.known();
  m.policy.learn(active.result, rows, known);
  TighteningTrials trials;
  for (const Worker& worker : workers_) trials += worker.trials[static_cast<size_t>(active.slot)];
  if (known) m.tightening.learn(trials);
}

// Labels and statistics of one group, as long as a search, and one model.
void CpuSession::label_group(const Target& target, Group& group, int worker_index, PassResult& result) {
  Worker& worker = workers_[static_cast<size_t>(worker_index)];
  Model& m = model(target.slot);
  if (m.carries && m.bounds.known()) {
    list_rows_left(target, group, worker, result);
    const auto left = static_cast<int64_t>(worker.left.size());
    if (left == 0) {
      result.skipped += group.rows;
      return;
    }
    load_tiles(group, worker);
    if (left < group.rows) {
      result.skipped += group.rows - left;
      label_rows_left(target, group, worker, result);
      record_changes(target.slot, group, worker_index, result);
      return;
    }
  }
  load_tiles(group, worker);
  label_whole_group(target, group, worker_index, result);
}

void CpuSession::label_whole_group(const Target& target, const Group& group, int worker_index, PassResult& result) {
  Worker& worker = workers_[static_cast<size_t>(worker_index)];
  const bool carries = model(target.slot).carries;
  if (group.rows <= plan_.tiles_per_group * tile_rows()) {
    find_labels(target, group, worker, result);
    if (carries) renew_bounds(model(target.slot), group, worker);
    record_changes(target.slot, group, worker_index, result);
    return;
  }
  const int64_t first_tile = group.first_row / tile_rows();
  const int64_t last_tile = (group.first_row + group.rows + tile_rows() - 1) / tile_rows();
  for (int64_t t = first_tile; t < last_tile; t += plan_.tiles_per_group) {
    Group part = make_group(t, std::min(last_tile, t + plan_.tiles_per_group));
    load_tiles(part, worker);
    find_labels(target, part, worker, result);
    if (carries) renew_bounds(model(target.slot), part, worker);
    record_changes(target.slot, part, worker_index, result);
  }
}

// worker.kept = the labels of the group, worker.left = the rows that may not keep theirs.
void CpuSession::list_rows_left(const Target& target, const Group& group, Worker& worker, PassResult& result) {
  Model& m = model(target.slot);
  m.labels.read(group.first_row, group.rows, worker.kept.data());
  std::fill(worker.kept.begin() + group.rows, worker.kept.end(), 0);
  worker.left.resize(static_cast<size_t>(group.rows));
  const KeepTask task = m.bounds.keep_task(group.first_row, group.rows, worker.kept.data());
  worker.left.resize(static_cast<size_t>(shared_.kernels.rows_left(task, worker.left.data())));
  tighten(target, group, worker, result);
}

// The distance to a row's own prototype takes the place of its bound where that pays: one distance may spare all
// others.
void CpuSession::tighten(const Target& target, const Group& group, Worker& worker, PassResult& result) {
  Model& m = model(target.slot);
  const size_t count = worker.left.size();
  const CarriedBounds::RowsLeft rows{group.first_row, worker.left, worker.kept.data()};
  m.bounds.classify(rows, worker.lack_classes.data());
  size_t chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    worker.chosen[chosen] = static_cast<uint32_t>(i);
    chosen += m.tightening.tightens(worker.lack_classes[i], group.first_row + worker.left[i]) ? 1 : 0;
  }
  for (size_t c = 0; c < chosen; ++c) {
    if (c + kPrefetchRows < chosen) prefetch_row(group.first_row + worker.left[worker.chosen[c + kPrefetchRows]]);
    const uint32_t place = worker.left[worker.chosen[c]];
    worker.own_d2[c] = distance(group.first_row + place, *target.prototypes, worker.kept[place], worker);
  }
  worker.left.resize(m.bounds.tighten(rows, std::span(worker.chosen).first(chosen), worker.own_d2.data(),
                                      worker.lack_classes.data(), worker.trials[static_cast<size_t>(target.slot)]));
  result.tightened += static_cast<int64_t>(chosen);
}

// The rows left, in full tiles; worker.labels = the labels of the group.
void CpuSession::label_rows_left(const Target& target, const Group& group, Worker& worker, PassResult& result) {
  const std::span<const uint32_t> left = worker.left;
  const auto most = static_cast<size_t>(plan_.tiles_per_group * tile_rows());
  for (size_t first = 0; first < left.size(); first += most) {
    Group some;
    some.first_row = group.first_row;
    some.picked = left.subspan(first, std::min(most, left.size() - first));
    some.rows = static_cast<int64_t>(some.picked.size());
    shared_.packed.gather(group.tiles, some.picked, worker.gathered.data(), some.tiles);
    find_labels(target, some, worker, result);
    renew_bounds(model(target.slot), some, worker);
    for (size_t i = 0; i < some.picked.size(); ++i) worker.kept[some.picked[i]] = worker.labels[i];
  }
  worker.labels.swap(worker.kept);
}

// After find_labels: bounds of the distances of these rows, from their certificates or their candidates.
void CpuSession::renew_bounds(Model& m, const Group& group, Worker& worker) const {
  const int64_t p = tile_rows();
  const auto underflow = static_cast<float>(static_cast<double>(shared_.input.points.d) * 0x1p-80);
  for (size_t t = 0; t < group.tiles.size(); ++t) {
    const Tile& tile = group.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    shared_.kernels.bound_distances({static_cast<int>(p), tile.norms, worker.lower.data() + at,
                                     worker.runner_up.data() + at, m.bounds.inflation(), underflow,
                                     worker.nearest.data() + at, worker.others.data() + at});
    for (int64_t i = at; i < at + tile.rows; ++i) {
      const auto place = static_cast<size_t>(i);
      m.bounds.set(group.row(i), worker.labels[place], worker.nearest[place], worker.others[place]);
    }
    for (uint64_t rows = worker.doubtful[t]; rows != 0; rows &= rows - 1) {
      const auto lane = std::countr_zero(rows);
      const auto place = static_cast<size_t>(at + lane);
      // Prototypes that are no candidates have scores below worker.lower.
      const double norm = tile.norms[lane];
      const double square = norm * norm * (1 - 0x1p-17) - static_cast<double>(underflow);
      const double beyond = std::sqrt(std::max(0.0, square - 2 * static_cast<double>(worker.lower[place]))) *
                            (2 - static_cast<double>(m.bounds.inflation()));
      m.bounds.set(group.row(at + lane), worker.labels[place], m.bounds.at_most(worker.least[place]),
                   std::min(beyond, m.bounds.at_least(worker.second_least[place])));
    }
  }
}

}  // namespace manymeans
