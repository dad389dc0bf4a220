// Screen and resolve: labels of one group of tiles and one model.
#include "backend/cpu/cpu_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

constexpr float kPadding = -0x1p125F;  // offsets below this belong to no prototype

}  // namespace

CpuSession::Group CpuSession::load_group(int64_t first_tile, int64_t last_tile, Worker& worker) const {
  Group group;
  const int64_t p = tile_rows();
  group.first_row = first_tile * p;
  group.rows = std::min(shared_.input.points.n, last_tile * p) - group.first_row;
  if (shared_.plan.brute) return group;
  for (int64_t t = first_tile; t < last_tile; ++t) {
    std::byte* scratch = worker.tiles.data() + static_cast<size_t>(t - first_tile) * shared_.packed.tile_bytes();
    group.tiles.push_back(shared_.packed.tile(t, scratch));
  }
  group.ahead = shared_.packed.ahead(last_tile, last_tile - first_tile);
  return group;
}

// Best two upper scores of every row and span of the group. Prototypes pass in chunks that stay in the first cache
// while the tiles, which stay in the second, go by. Every chunk fetches its share of the group that follows.
void CpuSession::screen_group(const PackedPrototypes& packed, const Group& group, Worker& worker) const {
  const int64_t p = tile_rows();
  const MatrixSteps steps = shared_.packed.layout().steps();
  const auto tiles = static_cast<int64_t>(group.tiles.size());
  const int64_t chunks = (packed.spans + plan_.spans_per_chunk - 1) / plan_.spans_per_chunk;
  worker.screen_tiles.resize(group.tiles.size());
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t span = chunk * plan_.spans_per_chunk;
    for (int64_t t = 0; t < tiles; ++t) {
      const Tile& tile = group.tiles[static_cast<size_t>(t)];
      const int64_t at = (t * packed.spans + span) * p;
      worker.screen_tiles[static_cast<size_t>(t)] = {tile.values, tile.radii, worker.best.data() + at,
                                                     worker.second.data() + at};
    }
    const std::span<const std::byte> ahead =
        group.ahead.subspan(group.ahead.size() * static_cast<size_t>(chunk) / static_cast<size_t>(chunks),
                            group.ahead.size() / static_cast<size_t>(chunks));
    shared_.packed.screen().screen({packed.view(span, plan_.spans_per_chunk, shared_.packed, steps),
                                    worker.screen_tiles.data(), tiles, ahead.data(),
                                    static_cast<int64_t>(ahead.size())});
  }
}

void CpuSession::find_labels(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  if (shared_.plan.brute || !target.packed.screenable) {
    find_all_labels(target, group, worker, result);
    return;
  }
  screen_group(target.packed, group, worker);
  certify_group(target, group, worker, result);
  // Their rows lie apart in memory: ask for each a little before its turn.
  constexpr size_t kAhead = 6;
  const std::vector<int64_t>& rows = worker.unproved;
  for (size_t i = 0; i < std::min(kAhead, rows.size()); ++i) prefetch_row(group.first_row + rows[i]);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) prefetch_row(group.first_row + rows[i + kAhead]);
    resolve_row(target, group, rows[i], worker, result);
  }
}

void CpuSession::find_all_labels(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  for (int64_t i = 0; i < group.rows; ++i) {
    worker.labels[static_cast<size_t>(i)] = nearest_of_all(*target.prototypes, group.first_row + i, worker);
  }
  result.resolved += group.rows;
  result.candidates += group.rows * target.prototypes->rows();
}

// Labels of the rows whose best column is proved, and which rows are left.
void CpuSession::certify_group(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  const PackedPrototypes& packed = target.packed;
  const int64_t p = tile_rows();
  worker.unproved.clear();
  for (size_t t = 0; t < group.tiles.size(); ++t) {
    const Tile& tile = group.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    uint64_t unproved = shared_.kernels.certify(
        {worker.best.data() + at * packed.spans, worker.second.data() + at * packed.spans, packed.spans,
         static_cast<int>(p), tile.norms, tile.radii, packed.bounds.slopes.data(), packed.bounds.errors.data(),
         packed.slack, packed.underflow, worker.column.data() + at, worker.upper.data() + at, worker.lower.data() + at,
         worker.runner_up.data() + at});
    if (tile.rows < 64) unproved &= (uint64_t{1} << tile.rows) - 1;
    for (int64_t i = 0; i < tile.rows; ++i) {
      const auto column = static_cast<size_t>(worker.column[static_cast<size_t>(at + i)]);
      worker.labels[static_cast<size_t>(at + i)] = packed.order[column];
    }
    result.certified += tile.rows - std::popcount(unproved);
    for (; unproved != 0; unproved &= unproved - 1) worker.unproved.push_back(at + std::countr_zero(unproved));
  }
}

void CpuSession::resolve_row(const Target& target, const Group& group, int64_t row_in_group, Worker& worker,
                             PassResult& result) const {
  const int64_t row = group.first_row + row_in_group;
  find_candidates(target.packed, row, row_in_group, worker);
  result.resolved += 1;
  result.candidates += static_cast<int64_t>(worker.candidates.size());
  worker.labels[static_cast<size_t>(row_in_group)] = nearest(*target.prototypes, row, worker.candidates, worker);
}

// All prototypes whose upper score reaches what the best one's true score surely exceeds: the nearest is among them.
// The screen left the best two of every span, so only spans whose second best is that high are looked at again.
void CpuSession::find_candidates(const PackedPrototypes& packed, int64_t row, int64_t row_in_group,
                                 Worker& worker) const {
  const int64_t p = tile_rows();
  const int64_t lane = row_in_group % p;
  const int64_t tile = row_in_group / p;
  const float lower = worker.lower[static_cast<size_t>(row_in_group)];
  const float threshold = lower - std::abs(lower) * 0x1p-20F;  // its own rounding
  const float* best = worker.best.data() + tile * packed.spans * p + lane;
  const float* second = worker.second.data() + tile * packed.spans * p + lane;
  worker.candidates.clear();
  worker.fine_row.clear();
  for (int64_t span = 0; span < packed.spans; ++span) {
    if (best[span * p] < threshold) continue;
    if (!(second[span * p] < threshold)) {
      add_span_candidates(packed, span, row, threshold, worker);
      continue;
    }
    const auto place = std::bit_cast<uint32_t>(best[span * p]) & kColumnBits;
    worker.candidates.push_back(packed.order[static_cast<size_t>(span * kSpanColumns + place)]);
  }
}

// The candidates of one span, by float32 scores.
void CpuSession::add_span_candidates(const PackedPrototypes& packed, int64_t span, int64_t row, float threshold,
                                     Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  if (worker.fine_row.empty()) {
    worker.fine_row.resize(static_cast<size_t>(d));
    worker.fine_norm = shared_.packed.fine_row(row, worker.fine_row.data());
  }
  const int64_t first = span * kSpanColumns;
  const int64_t columns = std::min<int64_t>(kSpanColumns, packed.columns - first);
  float scores[kSpanColumns];
  shared_.kernels.rescore(worker.fine_row.data(), packed.values.data() + first * d, packed.offsets.data() + first, d,
                          columns, scores);
  const auto at = static_cast<size_t>(span);
  const float bound = worker.fine_norm * packed.fine.slopes[at] + packed.fine.errors[at];
  for (int64_t c = 0; c < columns; ++c) {
    if (packed.offsets[static_cast<size_t>(first + c)] < kPadding || scores[c] + bound < threshold) continue;
    worker.candidates.push_back(packed.order[static_cast<size_t>(first + c)]);
  }
}

const float* CpuSession::row_f32(int64_t row, Worker& worker) const {
  return rows_as<float>(shared_.input.points, row, 1, worker.wide_f32.data());
}

double CpuSession::distance(int64_t row, const Matrix& prototypes, int64_t k, Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  if (prototypes.type() == DataType::kFloat64) {
    const double* x = static_cast<const double*>(shared_.input.points.data) + row * d;
    return shared_.kernels.distance_f64(x, prototypes.values<double>().data() + k * d, d);
  }
  return shared_.kernels.distance_f32(row_f32(row, worker), prototypes.values<float>().data() + k * d, d);
}

// Ties go to the lowest index, in whatever order the candidates come.
uint32_t CpuSession::nearest(const Matrix& prototypes, int64_t row, std::span<const uint32_t> candidates,
                             Worker& worker) const {
  uint32_t best = candidates.empty() ? 0 : candidates.front();
  if (candidates.size() == 1) return best;
  double least = std::numeric_limits<double>::infinity();
  for (const uint32_t k : candidates) {
    const double d2 = distance(row, prototypes, k, worker);
    if (d2 < least || (d2 == least && k < best)) {
      least = d2;
      best = k;
    }
  }
  return best;
}

uint32_t CpuSession::nearest_of_all(const Matrix& prototypes, int64_t row, Worker& worker) const {
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < prototypes.rows(); ++k) {
    const double d2 = distance(row, prototypes, k, worker);
    if (d2 < least) {
      least = d2;
      best = static_cast<uint32_t>(k);
    }
  }
  return best;
}

}  // namespace manymeans
