#include "backend/cpu/pass/cpu_screen.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace manymeans {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void ScreenScratch::reserve(int64_t rows, int64_t max_spans) {
  const auto scores = static_cast<size_t>(rows * max_spans);
  for (AlignedBuffer<float>* buffer : {&best, &second, &third}) {
    if (buffer->size() < scores) *buffer = AlignedBuffer<float>(scores);
  }
  const auto count = static_cast<size_t>(rows);
  if (least.size() >= count) return;
  for (AlignedBuffer<float>* buffer : {&upper, &lower, &runner_up}) *buffer = AlignedBuffer<float>(count);
  least.resize(count);
  second_least.resize(count);
}

void CpuScreen::prepare() {
  const int64_t block_rows = plan_.tiles_per_block * tile_rows();
  const int64_t searched_rows = plan_.tiles_per_search * tile_rows();
  const size_t tiles = static_cast<size_t>(plan_.tiles_per_block) * shared_.packed.tile_bytes();
  for (Worker& worker : workers_) {
    if (!worker.labels.empty()) continue;
    worker.screen.reserve(block_rows, plan_.max_spans);
    worker.labels.resize(static_cast<size_t>(searched_rows));
    worker.wide_f32.resize(static_cast<size_t>(shared_.input.points.d));
    if (!shared_.plan.packed) worker.tiles = AlignedBuffer<std::byte>(tiles);
  }
}

PassTarget CpuScreen::make_target(int slot, const Matrix& prototypes, bool in_bytes, ThreadPool* pool) const {
  PassTarget target;
  target.slot = slot;
  target.prototypes = &prototypes;
  if (!shared_.plan.brute) {
    const double bound_scale = shared_.options.tuning.cpu.bound_scale;
    target.packed = pack_prototypes(prototypes, shared_.packed, shared_.kernels, bound_scale, pool);
    if (target.packed.screenable && in_bytes) {
      target.coded =
          code_prototypes({prototypes, target.packed, shared_.coded, shared_.packed.frame(), bound_scale}, pool);
    }
  }
  return target;
}

TileBlock CpuScreen::make_block(int64_t first_tile, int64_t last_tile) const {
  TileBlock block;
  block.first_row = first_tile * tile_rows();
  block.rows = std::min(shared_.input.points.n, last_tile * tile_rows()) - block.first_row;
  return block;
}

// Does nothing where they are loaded already, for another model.
void CpuScreen::load_tiles(TileBlock& block, Worker& worker) const {
  if (shared_.plan.brute || !block.tiles.empty()) return;
  const int64_t p = tile_rows();
  const int64_t first_tile = block.first_row / p;
  const int64_t last_tile = (block.first_row + block.rows + p - 1) / p;
  for (int64_t t = first_tile; t < last_tile; ++t) {
    const size_t at = static_cast<size_t>(t - first_tile) * shared_.packed.tile_bytes();
    block.tiles.push_back(shared_.packed.tile(t, worker.tiles.size() == 0 ? nullptr : worker.tiles.data() + at));
  }
  block.ahead = shared_.packed.ahead(last_tile, last_tile - first_tile);
}

// Best two upper scores of every row and span of the block. Prototypes pass in chunks that stay in the first cache
// while the tiles, which stay in the second, go by. Every chunk fetches its share of the block that follows.
void CpuScreen::screen_block(const PackedPrototypes& packed, const TileBlock& block, Worker& worker) const {
  const int64_t p = tile_rows();
  const MatrixSteps steps = shared_.packed.layout().steps();
  const auto tiles = static_cast<int64_t>(block.tiles.size());
  const int64_t chunks = (packed.spans + plan_.spans_per_chunk - 1) / plan_.spans_per_chunk;
  worker.screen.tiles.resize(block.tiles.size());
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t span = chunk * plan_.spans_per_chunk;
    for (int64_t t = 0; t < tiles; ++t) {
      const Tile& tile = block.tiles[static_cast<size_t>(t)];
      const int64_t at = (t * packed.spans + span) * p;
      worker.screen.tiles[static_cast<size_t>(t)] = {tile.values, tile.radii, worker.screen.best.data() + at,
                                                     worker.screen.second.data() + at, worker.screen.third.data() + at};
    }
    const std::span<const std::byte> ahead =
        block.ahead.subspan(block.ahead.size() * static_cast<size_t>(chunk) / static_cast<size_t>(chunks),
                            block.ahead.size() / static_cast<size_t>(chunks));
    shared_.packed.screen().screen({packed.view(span, plan_.spans_per_chunk, shared_.packed, steps),
                                    worker.screen.tiles.data(), tiles, ahead.data(),
                                    static_cast<int64_t>(ahead.size())});
  }
}

void CpuScreen::find_labels(const PassTarget& target, const TileBlock& block, Worker& worker,
                            PassResult& result) const {
  if (shared_.plan.brute || !target.packed.screenable) {
    find_all_labels(target, block, worker, result);
    return;
  }
  screen_block(target.packed, block, worker);
  certify_block(target, block, worker, result);
  resolve_block(target, block, worker, result);
}

void CpuScreen::find_all_labels(const PassTarget& target, const TileBlock& block, Worker& worker,
                                PassResult& result) const {
  distances_.find_nearest(*target.prototypes, block.first_row, block.rows, worker.wide_f32, worker.labels.data());
  result.resolved += block.rows;
  result.candidates += block.rows * target.prototypes->rows();
}

// Labels of the rows whose best column is proved, and the candidates of the others.
void CpuScreen::certify_block(const PassTarget& target, const TileBlock& block, Worker& worker,
                              PassResult& result) const {
  const PackedPrototypes& packed = target.packed;
  const int64_t p = tile_rows();
  worker.screen.candidates.clear();
  worker.screen.doubtful.resize(block.tiles.size());
  for (size_t t = 0; t < block.tiles.size(); ++t) {
    const Tile& tile = block.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    const CertifyTask task{worker.screen.best.data() + at * packed.spans,
                           worker.screen.second.data() + at * packed.spans,
                           worker.screen.third.data() + at * packed.spans,
                           packed.spans,
                           static_cast<int>(p),
                           tile.norms,
                           tile.radii,
                           packed.bounds.slopes.data(),
                           packed.bounds.errors.data(),
                           packed.slack,
                           packed.underflow,
                           packed.order.data(),
                           worker.labels.data() + at,
                           worker.screen.upper.data() + at,
                           worker.screen.lower.data() + at,
                           worker.screen.runner_up.data() + at};
    uint64_t unproved = shared_.kernels.certify(task);
    if (tile.rows < 64) unproved &= (uint64_t{1} << tile.rows) - 1;
    worker.screen.doubtful[t] = unproved;
    result.certified += tile.rows - std::popcount(unproved);
    if (unproved == 0) continue;
    raise_lower_scores(target, block, {task, at, unproved}, worker);
    list_candidates(packed, block, {task, at, unproved}, worker);
  }
}

// The distance to a row's best column takes the place of what that column's score surely exceeds, and leaves about half
// of the other candidates. Carried bounds need these candidates' distances, so nothing is gained there.
void CpuScreen::raise_lower_scores(const PassTarget& target, const TileBlock& block, const Unproved& unproved,
                                   Worker& worker) const {
  const auto at = static_cast<size_t>(unproved.at);
  for (uint64_t bits = unproved.rows; bits != 0; bits &= bits - 1) {
    const size_t row = at + static_cast<size_t>(std::countr_zero(bits));
    worker.screen.least[row] = kInfinity;
    worker.screen.second_least[row] = kInfinity;
    distances_.prefetch_row(block.row(static_cast<int64_t>(row)));
  }
  if (target.carries || !shared_.prototype.euclidean) return;
  for (uint64_t bits = unproved.rows; bits != 0; bits &= bits - 1) {
    const size_t row = at + static_cast<size_t>(std::countr_zero(bits));
    worker.screen.least[row] = distances_.distance(block.row(static_cast<int64_t>(row)), *target.prototypes,
                                                   worker.labels[row], worker.wide_f32);
  }
  float thresholds[64];
  shared_.kernels.seed_thresholds({unproved.task.norms, worker.screen.least.data() + at, tile_rows(),
                                   shared_.packed.frame().scale, static_cast<double>(target.packed.underflow),
                                   thresholds});
  for (uint64_t bits = unproved.rows; bits != 0; bits &= bits - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(bits));
    worker.screen.lower[at + lane] = std::max(worker.screen.lower[at + lane], thresholds[lane]);
  }
}

// All prototypes whose upper score reaches what the best one's true score surely exceeds: the nearest is among them.
// The screen left the best two of every span, so only spans where a third may be that high are looked at again.
void CpuScreen::list_candidates(const PackedPrototypes& packed, const TileBlock& block, const Unproved& unproved,
                                Worker& worker) const {
  worker.screen.spans.resize(static_cast<size_t>(packed.spans));
  const int64_t count = shared_.kernels.candidates(unproved.task, unproved.rows, worker.screen.spans.data());
  const int64_t p = tile_rows();
  for (int64_t i = 0; i < count; ++i) {
    const SpanCandidates& found = worker.screen.spans[static_cast<size_t>(i)];
    const auto columns = static_cast<uint32_t>(packed.columns[static_cast<size_t>(found.span)]);
    const auto add = [&](const float* scores, uint64_t rows) {
      for (uint64_t bits = rows; bits != 0; bits &= bits - 1) {
        const int64_t lane = std::countr_zero(bits);
        const auto place = std::bit_cast<uint32_t>(scores[found.span * p + lane]) & kColumnBits;
        if (place >= columns) continue;  // padding
        worker.screen.candidates.push_back(
            {unproved.at + lane, packed.order[static_cast<size_t>(found.span * kSpanColumns + place)]});
      }
    };
    add(unproved.task.best, found.best & ~found.more);
    add(unproved.task.second, found.two);
    for (uint64_t bits = found.more; bits != 0; bits &= bits - 1) {
      add_span_candidates(packed, block, found.span, unproved.at + std::countr_zero(bits), worker);
    }
  }
  worker.screen.unproved += std::popcount(unproved.rows);
}

// Canonical distances have the last word; ties go to the lowest index, in whatever order the candidates come.
void CpuScreen::resolve_block(const PassTarget& target, const TileBlock& block, Worker& worker,
                              PassResult& result) const {
  for (const Candidate& candidate : worker.screen.candidates) {
    const auto row = static_cast<size_t>(candidate.row);
    if (candidate.prototype == worker.labels[row] && worker.screen.least[row] < kInfinity) continue;  // known
    const double d2 =
        distances_.distance(block.row(candidate.row), *target.prototypes, candidate.prototype, worker.wide_f32);
    worker.screen.second_least[row] = std::min(worker.screen.second_least[row], std::max(d2, worker.screen.least[row]));
    if (d2 < worker.screen.least[row] || (d2 == worker.screen.least[row] && candidate.prototype < worker.labels[row])) {
      worker.screen.least[row] = d2;
      worker.labels[row] = candidate.prototype;
    }
  }
  result.resolved += std::exchange(worker.screen.unproved, 0);
  result.candidates += static_cast<int64_t>(worker.screen.candidates.size());
}

// The row in float32, from its tile where that holds it; returns a bound of its norm.
float CpuScreen::fine_row(const TileBlock& block, int64_t row_in_block, Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  worker.screen.fine_row.resize(static_cast<size_t>(d));
  if (shared_.packed.screen().format != ScreenFormat::kFloat32) {
    return shared_.packed.fine_row(block.row(row_in_block), worker.screen.fine_row.data());
  }
  const int64_t p = tile_rows();
  const Tile& tile = block.tiles[static_cast<size_t>(row_in_block / p)];
  const float* values = static_cast<const float*>(tile.values) + row_in_block % p;
  for (int64_t j = 0; j < d; ++j) worker.screen.fine_row[static_cast<size_t>(j)] = values[j * p];
  return tile.norms[row_in_block % p];
}

// The candidates of one span for one row, by float32 scores.
void CpuScreen::add_span_candidates(const PackedPrototypes& packed, const TileBlock& block, int64_t span,
                                    int64_t row_in_block, Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  const float norm = fine_row(block, row_in_block, worker);
  const float threshold = worker.screen.lower[static_cast<size_t>(row_in_block)];
  const int64_t first = span * kSpanColumns;
  const int64_t columns = packed.columns[static_cast<size_t>(span)];
  float scores[kSpanColumns];
  shared_.kernels.rescore({worker.screen.fine_row.data(), packed.values.data() + first * d,
                           packed.offsets.data() + first, d, packed.widths[static_cast<size_t>(span)], scores});
  const auto at = static_cast<size_t>(span);
  const float bound = norm * packed.fine.slopes[at] + packed.fine.errors[at];
  for (int64_t c = 0; c < columns; ++c) {
    if (shared_.prototype.linear) scores[c] = -std::fabs(scores[c]);
    if (scores[c] + bound < threshold) continue;
    worker.screen.candidates.push_back({row_in_block, packed.order[static_cast<size_t>(first + c)]});
  }
}

}  // namespace manymeans
