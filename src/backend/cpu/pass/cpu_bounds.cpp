#include "backend/cpu/pass/cpu_bounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPrefetchRows = 8;

}  // namespace

CpuBounds::CpuBounds(const CpuShared& shared, const SessionPlan& plan, CpuScreen& screen, std::span<const int64_t> k)
    : shared_(shared), plan_(plan), distances_(shared), screen_(screen), scratch_(screen.workers().size()) {
  for (const int64_t count : k) {
    Model m;
    m.policy = BoundsPolicy(bounds_use(shared.plan, count));
    m.tightening = TighteningChoice(worth_of_tightening(shared.plan, count, shared.input.points.d));
    models_.push_back(std::move(m));
  }
}

void CpuBounds::prepare() {
  if (!plan_.carry_bounds) return;
  const auto screened = static_cast<size_t>(plan_.tiles_per_block * screen_.tile_rows());
  const auto searched = static_cast<size_t>(plan_.tiles_per_search * screen_.tile_rows());
  for (Scratch& scratch : scratch_) {
    if (!scratch.kept.empty()) continue;
    scratch.nearest = AlignedBuffer<float>(screened);
    scratch.others = AlignedBuffer<float>(screened);
    scratch.gathered =
        AlignedBuffer<std::byte>(static_cast<size_t>(plan_.tiles_per_block) * shared_.packed.tile_bytes());
    std::fill_n(scratch.gathered.data(), scratch.gathered.size(), std::byte{0});
    scratch.kept.resize(searched);
    scratch.assigned_d2.resize(searched);
    scratch.lack_classes.resize(searched);
    scratch.chosen.resize(searched);
  }
}

void CpuBounds::follow(std::span<PassTarget> targets, std::span<const CpuModel> models, ThreadPool& pool) {
  if (!plan_.carry_bounds) return;
  for (Scratch& scratch : scratch_) scratch.trials.assign(models_.size(), {});
  const BoundsFrame frame{&shared_.kernels, shared_.input.points.n, shared_.packed.frame().scale,
                          shared_.options.tuning.cpu.bound_scale};
  for (PassTarget& target : targets) {
    Model& m = model(target.slot);
    const CpuModel& labelled = models[static_cast<size_t>(target.slot)];
    make_room_for_bounds(labelled);
    target.carries = m.policy.carries() && target.packed.screenable;
    if (!m.policy.carries()) m.bounds = {};
    if (!labelled.labelled || !target.carries) m.bounds.forget();
    if (target.carries) m.bounds.follow(*target.prototypes, labelled.labels, target.packed.repeated, frame, pool);
  }
}

// A model that is to carry bounds from now on and finds no room for them never will.
void CpuBounds::make_room_for_bounds(const CpuModel& labelled) {
  Model& m = model(labelled.slot);
  if (!m.policy.carries() || m.bounds.allocated()) return;
  const int64_t others =
      std::count_if(models_.begin(), models_.end(), [](const Model& one) { return one.bounds.allocated(); });
  if (others >= plan_.bounded_models) {
    m.policy.refuse();
    shared_.bounds_log->refused(shared_.input.points.n * CarriedBounds::kBytesPerRow);
  } else if (shared_.plan.bounds == BoundsUse::kWhenTheyPay && !std::exchange(m.began, true)) {
    shared_.bounds_log->began(labelled.passes + 1, labelled.changed_share);
  }
}

// Learns from a pass for the next one.
void CpuBounds::learn(const PassTarget& target, const PassResult& result) {
  if (!plan_.carry_bounds) return;
  Model& m = model(target.slot);
  m.policy.learn(result, shared_.input.points.n, known(target));
  TighteningTrials trials;
  for (const Scratch& scratch : scratch_) trials += scratch.trials[static_cast<size_t>(target.slot)];
  if (known(target)) m.tightening.learn(trials);
}

int64_t CpuBounds::list_rows_to_screen(const PassTarget& target, const Labels& labels, const TileBlock& block, int w,
                                       PassResult& result) {
  Scratch& own = scratch(w);
  labels.read(block.first_row, block.rows, own.kept.data());
  std::fill(own.kept.begin() + block.rows, own.kept.end(), 0);
  own.to_screen.resize(static_cast<size_t>(block.rows));
  const KeepTask task = model(target.slot).bounds.keep_task(block.first_row, block.rows, own.kept.data());
  own.to_screen.resize(static_cast<size_t>(shared_.kernels.rows_to_screen(task, own.to_screen.data())));
  tighten(target, block, w, result);
  return static_cast<int64_t>(own.to_screen.size());
}

// The distance to a row's assigned prototype takes the place of its bound where that pays: one distance may spare all
// others.
void CpuBounds::tighten(const PassTarget& target, const TileBlock& block, int w, PassResult& result) {
  Model& m = model(target.slot);
  Scratch& own = scratch(w);
  std::vector<float>& wide = screen_.worker(w).wide_f32;
  const size_t count = own.to_screen.size();
  const CarriedBounds::RowsToScreen rows{block.first_row, own.to_screen, own.kept.data()};
  m.bounds.classify(rows, own.lack_classes.data());
  size_t chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    own.chosen[chosen] = static_cast<uint32_t>(i);
    chosen += m.tightening.tightens(own.lack_classes[i], block.first_row + own.to_screen[i]) ? 1 : 0;
  }
  for (size_t c = 0; c < chosen; ++c) {
    if (c + kPrefetchRows < chosen)
      distances_.prefetch_row(block.first_row + own.to_screen[own.chosen[c + kPrefetchRows]]);
    const uint32_t place = own.to_screen[own.chosen[c]];
    own.assigned_d2[c] = distances_.distance(block.first_row + place, *target.prototypes, own.kept[place], wide);
  }
  own.to_screen.resize(m.bounds.tighten(rows, std::span(own.chosen).first(chosen), own.assigned_d2.data(),
                                        own.lack_classes.data(), own.trials[static_cast<size_t>(target.slot)]));
  result.tightened += static_cast<int64_t>(chosen);
}

void CpuBounds::label_rows_to_screen(const PassTarget& target, const TileBlock& block, int w, PassResult& result) {
  Worker& worker = screen_.worker(w);
  Scratch& own = scratch(w);
  const std::span<const uint32_t> rows = own.to_screen;
  const auto most = static_cast<size_t>(plan_.tiles_per_block * screen_.tile_rows());
  for (size_t first = 0; first < rows.size(); first += most) {
    TileBlock some;
    some.first_row = block.first_row;
    some.picked = rows.subspan(first, std::min(most, rows.size() - first));
    some.rows = static_cast<int64_t>(some.picked.size());
    shared_.packed.gather(block.tiles, some.picked, own.gathered.data(), some.tiles);
    screen_.find_labels(target, some, worker, result);
    renew(target, some, w);
    for (size_t i = 0; i < some.picked.size(); ++i) own.kept[some.picked[i]] = worker.labels[i];
  }
  worker.labels.swap(own.kept);
}

void CpuBounds::renew(const PassTarget& target, const TileBlock& block, int w) {
  Model& m = model(target.slot);
  Scratch& own = scratch(w);
  const Worker& worker = screen_.worker(w);
  const int64_t p = screen_.tile_rows();
  const auto underflow = static_cast<float>(static_cast<double>(shared_.input.points.d) * 0x1p-80);
  for (size_t t = 0; t < block.tiles.size(); ++t) {
    const Tile& tile = block.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    shared_.kernels.bound_distances({static_cast<int>(p), tile.norms, worker.screen.lower.data() + at,
                                     worker.screen.runner_up.data() + at, m.bounds.inflation(), underflow,
                                     own.nearest.data() + at, own.others.data() + at});
    for (int64_t i = at; i < at + tile.rows; ++i) {
      const auto place = static_cast<size_t>(i);
      m.bounds.set(block.row(i), worker.labels[place], own.nearest[place], own.others[place]);
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
