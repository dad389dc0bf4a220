// Rows whose label cannot have changed since the pass before are not looked at; the others are gathered into tiles.
#include "backend/cpu/pass/cpu_session.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPrefetchRows = 8;

}  // namespace

void CpuSession::follow_prototypes(std::span<const PassModel> models, std::span<const Target> targets) {
  if (!plan_.carry_bounds) return;
  for (Worker& worker : workers_) worker.bounds.trials.assign(models_.size(), {});
  const BoundsFrame frame{&shared_.kernels, shared_.input.points.n, shared_.packed.frame().scale,
                          shared_.options.tuning.cpu.bound_scale};
  for (size_t i = 0; i < models.size(); ++i) {
    Bounded& m = bounded(models[i].slot);
    const CpuModel& labelled = model(models[i].slot);
    make_room_for_bounds(models[i].slot);
    m.carries = m.policy.carries() && targets[i].packed.screenable;
    if (!m.policy.carries()) m.bounds = {};
    if (!labelled.labelled || !m.carries) m.bounds.forget();
    if (m.carries) m.bounds.follow(*models[i].prototypes, labelled.labels, targets[i].packed.repeated, frame, pool_);
  }
}

// A model that is to carry bounds from now on and finds no room for them never will.
void CpuSession::make_room_for_bounds(int slot) {
  Bounded& m = bounded(slot);
  if (!m.policy.carries() || m.bounds.allocated()) return;
  const int64_t others =
      std::count_if(bounded_.begin(), bounded_.end(), [](const Bounded& one) { return one.bounds.allocated(); });
  if (others >= plan_.bounded_models) {
    m.policy.refuse();
    shared_.bounds_log->refused(shared_.input.points.n * CarriedBounds::kBytesPerRow);
  } else if (shared_.plan.bounds == BoundsUse::kWhenTheyPay && !std::exchange(m.began, true)) {
    shared_.bounds_log->began(model(slot).passes + 1, model(slot).changed_share);
  }
}

// What a pass teaches about the next one.
void CpuSession::learn_from_pass(const PassModel& active) {
  CpuModel& m = model(active.slot);
  Bounded& bounds = bounded(active.slot);
  const int64_t rows = shared_.input.points.n;
  if (m.looked) learn_from_look(m, active.result);
  ++m.passes;
  m.changed_share = static_cast<double>(active.result.changed) / static_cast<double>(rows);
  if (!plan_.carry_bounds) return;
  const bool known = bounds.carries && bounds.bounds.known();
  bounds.policy.learn(active.result, rows, known);
  TighteningTrials trials;
  for (const Worker& worker : workers_) trials += worker.bounds.trials[static_cast<size_t>(active.slot)];
  if (known) bounds.tightening.learn(trials);
}

void CpuSession::record_changes(const Target& target, const TileBlock& block, const Worker& worker, int w,
                                PassResult& result) {
  accumulator_.record_changes(model(target.slot), {block.first_row, block.rows, worker.labels.data()}, w, result);
}

// Labels and statistics of one block, as long as a search, and one model.
void CpuSession::label_block(const Target& target, TileBlock& block, int worker_index, PassResult& result) {
  Worker& worker = workers_[static_cast<size_t>(worker_index)];
  const Bounded& m = bounded(target.slot);
  if (m.carries && m.bounds.known()) {
    list_rows_to_screen(target, block, worker, result);
    const auto count = static_cast<int64_t>(worker.bounds.to_screen.size());
    if (count == 0) {
      result.skipped += block.rows;
      return;
    }
    load_tiles(block, worker);
    if (count < block.rows) {
      result.skipped += block.rows - count;
      label_rows_to_screen(target, block, worker, result);
      record_changes(target, block, worker, worker_index, result);
      return;
    }
  }
  load_tiles(block, worker);
  label_whole_block(target, block, worker_index, result);
}

void CpuSession::label_whole_block(const Target& target, const TileBlock& block, int worker_index, PassResult& result) {
  Worker& worker = workers_[static_cast<size_t>(worker_index)];
  const bool carries = bounded(target.slot).carries;
  if (!target.coded.widths.empty() && !carries) {
    look_and_resolve(target, block, worker, result);
    record_changes(target, block, worker, worker_index, result);
    return;
  }
  if (block.rows <= plan_.tiles_per_block * tile_rows()) {
    find_labels(target, block, worker, result);
    if (carries) renew_bounds(bounded(target.slot), block, worker);
    record_changes(target, block, worker, worker_index, result);
    return;
  }
  const int64_t first_tile = block.first_row / tile_rows();
  const int64_t last_tile = (block.first_row + block.rows + tile_rows() - 1) / tile_rows();
  for (int64_t t = first_tile; t < last_tile; t += plan_.tiles_per_block) {
    TileBlock part = make_block(t, std::min(last_tile, t + plan_.tiles_per_block));
    load_tiles(part, worker);
    find_labels(target, part, worker, result);
    if (carries) renew_bounds(bounded(target.slot), part, worker);
    record_changes(target, part, worker, worker_index, result);
  }
}

// worker.bounds.kept = the labels of the block, worker.bounds.to_screen = the rows that may not keep theirs.
void CpuSession::list_rows_to_screen(const Target& target, const TileBlock& block, Worker& worker, PassResult& result) {
  const Bounded& m = bounded(target.slot);
  model(target.slot).labels.read(block.first_row, block.rows, worker.bounds.kept.data());
  std::fill(worker.bounds.kept.begin() + block.rows, worker.bounds.kept.end(), 0);
  worker.bounds.to_screen.resize(static_cast<size_t>(block.rows));
  const KeepTask task = m.bounds.keep_task(block.first_row, block.rows, worker.bounds.kept.data());
  worker.bounds.to_screen.resize(
      static_cast<size_t>(shared_.kernels.rows_to_screen(task, worker.bounds.to_screen.data())));
  tighten(target, block, worker, result);
}

// The distance to a row's assigned prototype takes the place of its bound where that pays: one distance may spare all
// others.
void CpuSession::tighten(const Target& target, const TileBlock& block, Worker& worker, PassResult& result) {
  Bounded& m = bounded(target.slot);
  const size_t count = worker.bounds.to_screen.size();
  const CarriedBounds::RowsToScreen rows{block.first_row, worker.bounds.to_screen, worker.bounds.kept.data()};
  m.bounds.classify(rows, worker.bounds.lack_classes.data());
  size_t chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    worker.bounds.chosen[chosen] = static_cast<uint32_t>(i);
    chosen +=
        m.tightening.tightens(worker.bounds.lack_classes[i], block.first_row + worker.bounds.to_screen[i]) ? 1 : 0;
  }
  for (size_t c = 0; c < chosen; ++c) {
    if (c + kPrefetchRows < chosen)
      distances_.prefetch_row(block.first_row + worker.bounds.to_screen[worker.bounds.chosen[c + kPrefetchRows]]);
    const uint32_t place = worker.bounds.to_screen[worker.bounds.chosen[c]];
    worker.bounds.assigned_d2[c] =
        distances_.distance(block.first_row + place, *target.prototypes, worker.bounds.kept[place], worker.wide_f32);
  }
  worker.bounds.to_screen.resize(m.bounds.tighten(rows, std::span(worker.bounds.chosen).first(chosen),
                                                  worker.bounds.assigned_d2.data(), worker.bounds.lack_classes.data(),
                                                  worker.bounds.trials[static_cast<size_t>(target.slot)]));
  result.tightened += static_cast<int64_t>(chosen);
}

// The rows to screen, in full tiles; worker.labels = the labels of the block.
void CpuSession::label_rows_to_screen(const Target& target, const TileBlock& block, Worker& worker,
                                      PassResult& result) {
  const std::span<const uint32_t> rows = worker.bounds.to_screen;
  const auto most = static_cast<size_t>(plan_.tiles_per_block * tile_rows());
  for (size_t first = 0; first < rows.size(); first += most) {
    TileBlock some;
    some.first_row = block.first_row;
    some.picked = rows.subspan(first, std::min(most, rows.size() - first));
    some.rows = static_cast<int64_t>(some.picked.size());
    shared_.packed.gather(block.tiles, some.picked, worker.bounds.gathered.data(), some.tiles);
    find_labels(target, some, worker, result);
    renew_bounds(bounded(target.slot), some, worker);
    for (size_t i = 0; i < some.picked.size(); ++i) worker.bounds.kept[some.picked[i]] = worker.labels[i];
  }
  worker.labels.swap(worker.bounds.kept);
}

// After find_labels: bounds of the distances of these rows, from their certificates or their candidates.
void CpuSession::renew_bounds(Bounded& m, const TileBlock& block, Worker& worker) const {
  const int64_t p = tile_rows();
  const auto underflow = static_cast<float>(static_cast<double>(shared_.input.points.d) * 0x1p-80);
  for (size_t t = 0; t < block.tiles.size(); ++t) {
    const Tile& tile = block.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    shared_.kernels.bound_distances({static_cast<int>(p), tile.norms, worker.screen.lower.data() + at,
                                     worker.screen.runner_up.data() + at, m.bounds.inflation(), underflow,
                                     worker.bounds.nearest.data() + at, worker.bounds.others.data() + at});
    for (int64_t i = at; i < at + tile.rows; ++i) {
      const auto place = static_cast<size_t>(i);
      m.bounds.set(block.row(i), worker.labels[place], worker.bounds.nearest[place], worker.bounds.others[place]);
    }
    for (uint64_t rows = worker.screen.doubtful[t]; rows != 0; rows &= rows - 1) {
      const auto lane = std::countr_zero(rows);
      const auto place = static_cast<size_t>(at + lane);
      // Prototypes that are no candidates have scores below worker.screen.lower.
      const double norm = tile.norms[lane];
      const double square = norm * norm * (1 - 0x1p-17) - static_cast<double>(underflow);
      const double beyond = std::sqrt(std::max(0.0, square - 2 * static_cast<double>(worker.screen.lower[place]))) *
                            (2 - static_cast<double>(m.bounds.inflation()));
      m.bounds.set(block.row(at + lane), worker.labels[place], m.bounds.at_most(worker.screen.least[place]),
                   std::min(beyond, m.bounds.at_least(worker.screen.second_least[place])));
    }
  }
}

}  // namespace manymeans
