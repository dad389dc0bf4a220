#include "backend/cpu/pass/cpu_session.h"

#include "core/label_width.h"

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

// Where changes wait to be sorted by cluster, this many (of all models) at a time bound their memory.
constexpr int64_t kChangesBetweenSorts = int64_t{1} << 21;
// While more labels than this change, thresholds are low: a row has several prototypes nearer than its last.
constexpr double kSettledShare = 0.25;

}  // namespace

CpuSession::CpuSession(const CpuShared& shared, std::span<const int64_t> k, int threads)
    : shared_(shared),
      pool_(threads, shared.options.abort),
      plan_(plan_session(shared, k, pool_.size())),
      results_(static_cast<size_t>(pool_.size())),
      screen_(shared, plan_, pool_.size()),
      bounds_(shared, plan_, screen_, k),
      accumulator_(shared, plan_, k, pool_),
      tree_(shared, plan_, pool_),
      queries_(shared, pool_, models_, screen_, tree_) {
  for (const int64_t count : k) {
    CpuModel m;
    m.slot = static_cast<int>(models_.size());
    m.k = count;
    models_.push_back(std::move(m));
  }
}

std::vector<PassTarget> CpuSession::make_targets(std::span<const PassModel> models) {
  std::vector<PassTarget> targets(models.size());
  if (models.size() == 1) {
    const PassModel& m = models[0];
    targets[0] = screen_.make_target(m.slot, *m.prototypes, begins_with_look(m.slot), &pool_);
    return targets;
  }
  pool_.for_each_range(static_cast<int64_t>(models.size()), 1, [&](int, int64_t first, int64_t) {
    const PassModel& m = models[static_cast<size_t>(first)];
    targets[static_cast<size_t>(first)] = screen_.make_target(m.slot, *m.prototypes, begins_with_look(m.slot));
  });
  return targets;
}

int CpuSession::advance(std::span<PassModel> models, const PassLimits&) {
  if (shared_.tree) {
    tree_.advance(models, models_);
    return 1;
  }
  for (std::vector<PassResult>& results : results_) results.assign(models.size(), {});
  screen_.prepare();
  bounds_.prepare();
  accumulator_.prepare();
  for (const PassModel& active : models) {
    CpuModel& m = model(active.slot);
    prepare_model(m);
    const bool useful = !m.labelled && std::ssize(active.guess) == shared_.input.points.n;
    m.guess = useful ? active.guess : std::span<const uint32_t>();
  }
  std::vector<PassTarget> targets = make_targets(models);
  bounds_.follow(targets, models_, pool_);
  for (const PassTarget& target : targets) {
    model(target.slot).looked = !target.coded.widths.empty() && !target.carries;
  }
  label_all(targets);
  for (const PassModel& active : models) accumulator_.merge_deltas(model(active.slot));
  for (size_t i = 0; i < models.size(); ++i) {
    models[i].result = {};
    for (const std::vector<PassResult>& results : results_) models[i].result += results[i];
    learn_from_pass(targets[i], models[i].result);
    model(models[i].slot).labelled = true;
  }
  return 1;
}

void CpuSession::prepare_model(CpuModel& m) {
  const Input& input = shared_.input;
  if (m.labels.empty()) {
    m.labels = Labels(input.points.n, m.k, input.memory.labels == Storage::kFile);
    m.statistics = shared_.empty_statistics(m.k);
  }
  accumulator_.prepare_model(m);
}

// Changes wait for their sums, so the rows between two sorts must fit the window, and the changes their budget.
int64_t CpuSession::tiles_between_sorts(size_t models) const {
  constexpr int64_t kBytesPerChange = 40;
  const MemoryPlan& memory = shared_.input.memory;
  const int64_t per_tile = screen_.tile_rows() * static_cast<int64_t>(models);
  int64_t tiles = kChangesBetweenSorts / per_tile;
  if (memory.limited) tiles = std::min(tiles, memory.sums / (kBytesPerChange * per_tile));
  if (memory.window.moves()) {
    tiles = std::min(tiles, memory.window.chunk_rows() * (pool_.size() + 1) / screen_.tile_rows());
  }
  return std::max(plan_.tiles_per_search * pool_.size(), tiles);
}

void CpuSession::label_all(std::span<const PassTarget> targets) {
  const int64_t p = screen_.tile_rows();
  const int64_t tiles = (shared_.input.points.n + p - 1) / p;
  const bool carried =
      std::any_of(targets.begin(), targets.end(), [](const PassTarget& target) { return target.carries; });
  const int64_t search = carried ? plan_.tiles_per_search : plan_.tiles_per_block;
  const int64_t step = plan_.by_label_order ? tiles_between_sorts(targets.size()) : tiles;
  RowPass pass(shared_.input.memory.window, 0, shared_.input.points.n, [&](int64_t first, int64_t last) {
    for (const PassTarget& target : targets) model(target.slot).labels.give_back(first, last - first);
  });
  for (int64_t begin = 0; begin < tiles; begin += step) {
    const int64_t count = std::min(step, tiles - begin);
    pool_.for_each_range(count, search, [&](int w, int64_t first, int64_t last) {
      std::vector<PassResult>& results = results_[static_cast<size_t>(w)];
      TileBlock block = screen_.make_block(begin + first, begin + last);
      pass.begin(block.first_row);
      for (size_t i = 0; i < targets.size(); ++i) {
        label_block(targets[i], block, w, results[i]);
      }
      if (!plan_.by_label_order) pass.done(block.first_row, block.first_row + block.rows);
    });
    if (!plan_.by_label_order) continue;
    for (const PassTarget& target : targets) accumulator_.apply_by_label(model(target.slot));
    const TileBlock rows = screen_.make_block(begin, begin + count);
    pass.done(rows.first_row, rows.first_row + rows.rows);
  }
}

// Labels and statistics of one block, as long as a search, and one model.
void CpuSession::label_block(const PassTarget& target, TileBlock& block, int w, PassResult& result) {
  Worker& worker = screen_.worker(w);
  if (bounds_.known(target)) {
    const int64_t count = bounds_.list_rows_to_screen(target, model(target.slot).labels, block, w, result);
    if (count == 0) {
      result.skipped += block.rows;
      return;
    }
    screen_.load_tiles(block, worker);
    if (count < block.rows) {
      result.skipped += block.rows - count;
      bounds_.label_rows_to_screen(target, block, w, result);
      record_changes(target, block, w, result);
      return;
    }
  }
  screen_.load_tiles(block, worker);
  label_whole_block(target, block, w, result);
}

void CpuSession::label_whole_block(const PassTarget& target, const TileBlock& block, int w, PassResult& result) {
  Worker& worker = screen_.worker(w);
  if (!target.coded.widths.empty() && !target.carries) {
    const CpuModel& m = model(target.slot);
    if (m.labelled) {
      m.labels.read(block.first_row, block.rows, worker.labels.data());
    } else {
      std::copy_n(m.guess.begin() + block.first_row, block.rows, worker.labels.begin());
    }
    screen_.look_and_resolve(target, block, worker, result);
    record_changes(target, block, w, result);
    return;
  }
  if (block.rows <= plan_.tiles_per_block * screen_.tile_rows()) {
    screen_.find_labels(target, block, worker, result);
    if (target.carries) bounds_.renew(target, block, w);
    record_changes(target, block, w, result);
    return;
  }
  const int64_t first_tile = block.first_row / screen_.tile_rows();
  const int64_t last_tile = (block.first_row + block.rows + screen_.tile_rows() - 1) / screen_.tile_rows();
  for (int64_t t = first_tile; t < last_tile; t += plan_.tiles_per_block) {
    TileBlock part = screen_.make_block(t, std::min(last_tile, t + plan_.tiles_per_block));
    screen_.load_tiles(part, worker);
    screen_.find_labels(target, part, worker, result);
    if (target.carries) bounds_.renew(target, part, w);
    record_changes(target, part, w, result);
  }
}

void CpuSession::record_changes(const PassTarget& target, const TileBlock& block, int w, PassResult& result) {
  const uint32_t* labels = screen_.worker(w).labels.data();
  accumulator_.record_changes(model(target.slot), {block.first_row, block.rows, labels}, w, result);
}

// Learns from a pass for the next one.
void CpuSession::learn_from_pass(const PassTarget& target, const PassResult& result) {
  CpuModel& m = model(target.slot);
  if (m.looked) learn_from_look(m, result);
  ++m.passes;
  m.changed_share = static_cast<double>(result.changed) / static_cast<double>(shared_.input.points.n);
  if (m.looked && !m.labelled) m.changed_share = 0;  // the first pass changes all, which says nothing of the next
  bounds_.learn(target, result);
}

bool CpuSession::begins_with_look(int slot) const {
  const CpuModel& m = models_[static_cast<size_t>(slot)];
  if (shared_.plan.in_bytes == nullptr || (!m.labelled && m.guess.empty()) || bounds_.wanted(slot)) return false;
  if (shared_.options.tuning.cpu.passes_in_bytes.value_or(false)) return true;
  return m.looks && (!m.labelled || m.changed_share < kSettledShare);
}

// Looks that leave too much go on as screens.
void CpuSession::learn_from_look(CpuModel& m, const PassResult& result) const {
  const LookCosts& costs = shared_.plan.look;
  const auto columns = static_cast<double>(m.k);
  const double hits =
      static_cast<double>(result.candidates - result.resolved) / static_cast<double>(shared_.input.points.n);
  m.looks = costs.column * columns + costs.row + costs.hit * hits < shared_.plan.column_ns * columns;
}

Labels CpuSession::take_labels(int slot) {
  CpuModel& m = model(slot);
  tree_.write_labels(m);
  tree_.forget(slot);
  m.labelled = false;
  m.statistics = {};
  bounds_.release(slot);
  accumulator_.forget(slot);
  return std::move(m.labels);
}

void CpuSession::move_row(int slot, int64_t row, uint32_t label) {
  CpuModel& m = model(slot);
  tree_.write_labels(m);
  tree_.labels_changed(slot);
  accumulator_.prepare();
  accumulator_.move_row({row, m.labels[row], label}, m.statistics);
  m.labels.write(row, 1, &label);
  bounds_.forget_row(slot, row);
}

void CpuSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  CpuModel& m = model(slot);
  tree_.write_labels(m);
  tree_.labels_changed(slot);
  replace_labels(m, new_label, kept);
  bounds_.forget(slot);
}

void CpuSession::reorder(int slot, std::span<const int64_t> order) {
  if (shared_.tree) return;  // a pass of the tree takes no longer than writing the labels of its rows
  std::vector<uint32_t> new_label(order.size());
  for (size_t to = 0; to < order.size(); ++to) new_label[static_cast<size_t>(order[to])] = static_cast<uint32_t>(to);
  replace_labels(model(slot), new_label, order);
  bounds_.reorder(slot, order);
}

void CpuSession::replace_labels(CpuModel& m, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  const auto k = static_cast<int64_t>(kept.size());
  const bool in_place = label_width(k) == m.labels.width();
  Labels narrower = in_place ? Labels() : Labels(m.labels.size(), k, m.labels.in_file());
  Labels& to = in_place ? m.labels : narrower;
  constexpr int64_t kRows = 4096;
  const auto replace = [&](int, int64_t first, int64_t last) { renumber_labels(m.labels, first, last, new_label, to); };
  shared_.input.memory.window.for_each_range(pool_, m.labels.size(), kRows, replace, [&](int64_t first, int64_t last) {
    m.labels.give_back(first, last - first);
    to.give_back(first, last - first);
  });
  if (!in_place) m.labels = std::move(narrower);
  m.k = k;
  m.statistics = m.statistics.renumbered(new_label, kept);
}

}  // namespace manymeans
