// Screen and resolve: labels of one group of tiles and one model.
#include "backend/cpu/pass/cpu_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace manymeans {

CpuSession::Group CpuSession::make_group(int64_t first_tile, int64_t last_tile) const {
  Group group;
  group.first_row = first_tile * tile_rows();
  group.rows = std::min(shared_.input.points.n, last_tile * tile_rows()) - group.first_row;
  return group;
}

// Does nothing where they are loaded already, for another model.
void CpuSession::load_tiles(Group& group, Worker& worker) const {
  if (shared_.plan.brute || !group.tiles.empty()) return;
  const int64_t p = tile_rows();
  const int64_t first_tile = group.first_row / p;
  const int64_t last_tile = (group.first_row + group.rows + p - 1) / p;
  for (int64_t t = first_tile; t < last_tile; ++t) {
    std::byte* scratch = worker.tiles.data() + static_cast<size_t>(t - first_tile) * shared_.packed.tile_bytes();
    group.tiles.push_back(shared_.packed.tile(t, scratch));
  }
  group.ahead = shared_.packed.ahead(last_tile, last_tile - first_tile);
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
                                                     worker.second.data() + at, worker.third.data() + at};
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
  resolve_group(target, group, worker, result);
}

void CpuSession::find_all_labels(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  if (!shared_.prototype.euclidean) {
    find_nearest(*target.prototypes, group, worker);
  } else {
    for (int64_t i = 0; i < group.rows; ++i) {
      worker.labels[static_cast<size_t>(i)] = nearest_of_all(*target.prototypes, group.first_row + i, worker);
    }
  }
  result.resolved += group.rows;
  result.candidates += group.rows * target.prototypes->rows();
}

// Labels of the rows whose best column is proved, and the candidates of the others.
void CpuSession::certify_group(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  const PackedPrototypes& packed = target.packed;
  const int64_t p = tile_rows();
  worker.candidates.clear();
  worker.doubtful.resize(group.tiles.size());
  for (size_t t = 0; t < group.tiles.size(); ++t) {
    const Tile& tile = group.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    const CertifyTask task{worker.best.data() + at * packed.spans,
                           worker.second.data() + at * packed.spans,
                           worker.third.data() + at * packed.spans,
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
                           worker.upper.data() + at,
                           worker.lower.data() + at,
                           worker.runner_up.data() + at};
    uint64_t unproved = shared_.kernels.certify(task);
    if (tile.rows < 64) unproved &= (uint64_t{1} << tile.rows) - 1;
    worker.doubtful[t] = unproved;
    result.certified += tile.rows - std::popcount(unproved);
    if (unproved != 0) list_candidates(packed, group, at, task, unproved, worker);
  }
}

// All prototypes whose upper score reaches what the best one's true score surely exceeds: the nearest is among them.
// The screen left the best two of every span, so only spans where a third may be that high are looked at again.
void CpuSession::list_candidates(const PackedPrototypes& packed, const Group& group, int64_t at,
                                 const CertifyTask& task, uint64_t unproved, Worker& worker) const {
  for (uint64_t bits = unproved; bits != 0; bits &= bits - 1) {
    const int64_t row = at + std::countr_zero(bits);
    worker.least[static_cast<size_t>(row)] = std::numeric_limits<double>::infinity();
    worker.second_least[static_cast<size_t>(row)] = std::numeric_limits<double>::infinity();
    prefetch_row(group.row(row));
  }
  worker.spans.resize(static_cast<size_t>(packed.spans));
  const int64_t count = shared_.kernels.candidates(task, unproved, worker.spans.data());
  const int64_t p = tile_rows();
  for (int64_t i = 0; i < count; ++i) {
    const SpanCandidates& found = worker.spans[static_cast<size_t>(i)];
    const auto columns = static_cast<uint32_t>(packed.columns[static_cast<size_t>(found.span)]);
    const auto add = [&](const float* scores, uint64_t rows) {
      for (uint64_t bits = rows; bits != 0; bits &= bits - 1) {
        const int64_t lane = std::countr_zero(bits);
        const auto place = std::bit_cast<uint32_t>(scores[found.span * p + lane]) & kColumnBits;
        if (place >= columns) continue;  // padding
        worker.candidates.push_back({at + lane, packed.order[static_cast<size_t>(found.span * kSpanColumns + place)]});
      }
    };
    add(task.best, found.best & ~found.more);
    add(task.second, found.two);
    for (uint64_t bits = found.more; bits != 0; bits &= bits - 1) {
      add_span_candidates(packed, group, found.span, at + std::countr_zero(bits), worker);
    }
  }
  worker.unproved += std::popcount(unproved);
}

// Canonical distances have the last word; ties go to the lowest index, in whatever order the candidates come.
void CpuSession::resolve_group(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  for (const Candidate& candidate : worker.candidates) {
    const auto row = static_cast<size_t>(candidate.row);
    const double d2 = distance(group.row(candidate.row), *target.prototypes, candidate.prototype, worker);
    worker.second_least[row] = std::min(worker.second_least[row], std::max(d2, worker.least[row]));
    if (d2 < worker.least[row] || (d2 == worker.least[row] && candidate.prototype < worker.labels[row])) {
      worker.least[row] = d2;
      worker.labels[row] = candidate.prototype;
    }
  }
  result.resolved += std::exchange(worker.unproved, 0);
  result.candidates += static_cast<int64_t>(worker.candidates.size());
}

// The row in float32, from its tile where that holds it; returns a bound of its norm.
float CpuSession::fine_row(const Group& group, int64_t row_in_group, Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  worker.fine_row.resize(static_cast<size_t>(d));
  if (shared_.packed.screen().format != ScreenFormat::kFloat32) {
    return shared_.packed.fine_row(group.row(row_in_group), worker.fine_row.data());
  }
  const int64_t p = tile_rows();
  const Tile& tile = group.tiles[static_cast<size_t>(row_in_group / p)];
  const float* values = static_cast<const float*>(tile.values) + row_in_group % p;
  for (int64_t j = 0; j < d; ++j) worker.fine_row[static_cast<size_t>(j)] = values[j * p];
  return tile.norms[row_in_group % p];
}

// The candidates of one span for one row, by float32 scores.
void CpuSession::add_span_candidates(const PackedPrototypes& packed, const Group& group, int64_t span,
                                     int64_t row_in_group, Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  const float norm = fine_row(group, row_in_group, worker);
  const float threshold = worker.lower[static_cast<size_t>(row_in_group)];
  const int64_t first = span * kSpanColumns;
  const int64_t columns = packed.columns[static_cast<size_t>(span)];
  float scores[kSpanColumns];
  shared_.kernels.rescore(worker.fine_row.data(), packed.values.data() + first * d, packed.offsets.data() + first, d,
                          packed.widths[static_cast<size_t>(span)], scores);
  const auto at = static_cast<size_t>(span);
  const float bound = norm * packed.fine.slopes[at] + packed.fine.errors[at];
  for (int64_t c = 0; c < columns; ++c) {
    if (scores[c] + bound < threshold) continue;
    worker.candidates.push_back({row_in_group, packed.order[static_cast<size_t>(first + c)]});
  }
}

const float* CpuSession::row_f32(int64_t row, Worker& worker) const {
  return rows_as<float>(shared_.input.points, row, 1, worker.wide_f32.data());
}

// Labels by the functions of another kind of prototype than the centroid, some rows a call.
void CpuSession::find_nearest(const Matrix& prototypes, const Group& group, Worker& worker) const {
  constexpr int64_t kRows = 64;
  const PointsView& points = shared_.input.points;
  const Prototype& prototype = shared_.prototype;
  const int64_t k = prototypes.rows();
  worker.wide_f32.resize(static_cast<size_t>(kRows * points.d));
  for (int64_t done = 0; done < group.rows; done += kRows) {
    const int64_t first = group.first_row + done;
    const int64_t count = std::min(kRows, group.rows - done);
    uint32_t* labels = worker.labels.data() + done;
    if (points.type == DataType::kFloat64) {
      const double* x = static_cast<const double*>(points.data) + first * points.d;
      prototype.f64.nearest({x, count, points.d}, prototypes.values<double>().data(), k, labels);
    } else {
      const float* x = rows_as<float>(points, first, count, worker.wide_f32.data());
      prototype.f32.nearest({x, count, points.d}, prototypes.values<float>().data(), k, labels);
    }
  }
}

double CpuSession::distance(int64_t row, const Matrix& prototypes, int64_t k, Worker& worker) const {
  const int64_t d = shared_.input.points.d;
  if (prototypes.type() == DataType::kFloat64) {
    const double* x = static_cast<const double*>(shared_.input.points.data) + row * d;
    return shared_.kernels.distance_f64(x, prototypes.values<double>().data() + k * prototypes.columns(), d);
  }
  const float* prototype = prototypes.values<float>().data() + k * prototypes.columns();
  return shared_.kernels.distance_f32(row_f32(row, worker), prototype, d);
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
