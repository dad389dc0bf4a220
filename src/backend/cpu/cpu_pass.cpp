// Screen and resolve: labels of one group of tiles and one model.
#include "backend/cpu/cpu_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace manymeans {

CpuSession::Group CpuSession::load_group(int64_t first_tile, int64_t last_tile, Worker& worker) const {
  Group group;
  const int64_t p = shared_.kernels.tile_rows;
  group.first_row = first_tile * p;
  group.rows = std::min(shared_.input.points.n, last_tile * p) - group.first_row;
  if (shared_.plan.brute) return group;
  for (int64_t t = first_tile; t < last_tile; ++t) {
    float* scratch = worker.tiles.data() + static_cast<size_t>(t - first_tile) * shared_.packed.tile_floats();
    group.tiles.push_back(shared_.packed.tile(t, scratch));
  }
  return group;
}

// Best two upper scores of every row of the group. Prototypes pass in chunks that stay in the first cache while
// the tiles, which stay in the second, go by.
void CpuSession::screen_group(const PackedPrototypes& packed, const Group& group, Worker& worker) const {
  const int64_t p = shared_.kernels.tile_rows;
  const int64_t r = shared_.kernels.block_prototypes;
  const int64_t d = shared_.input.points.d;
  const auto padded = static_cast<int64_t>(group.tiles.size()) * p;
  std::fill_n(worker.best.data(), padded, std::numeric_limits<float>::lowest());
  std::fill_n(worker.second.data(), padded, std::numeric_limits<float>::lowest());
  std::fill_n(worker.index.data(), padded, 0);
  for (int64_t block = 0; block < packed.blocks; block += plan_.blocks_per_chunk) {
    const int64_t count = std::min(plan_.blocks_per_chunk, packed.blocks - block);
    for (size_t t = 0; t < group.tiles.size(); ++t) {
      const ScreenBlocks blocks{group.tiles[t].values,
                                group.tiles[t].norms,
                                d,
                                packed.values.data() + block * r * d,
                                packed.offsets.data() + block * r,
                                packed.slopes.data() + block * r,
                                static_cast<int32_t>(block * r),
                                count};
      const auto at = static_cast<int64_t>(t) * p;
      shared_.kernels.screen(blocks, {worker.best.data() + at, worker.second.data() + at, worker.index.data() + at});
    }
  }
}

void CpuSession::find_labels(const Target& target, const Group& group, Worker& worker, PassResult& result) const {
  if (shared_.plan.brute || !target.packed.screenable) {
    for (int64_t i = 0; i < group.rows; ++i) {
      worker.labels[static_cast<size_t>(i)] = nearest_of_all(*target.prototypes, group.first_row + i, worker);
    }
    result.resolved += group.rows;
    result.candidates += group.rows * target.prototypes->rows();
    return;
  }
  screen_group(target.packed, group, worker);
  const PackedPrototypes& packed = target.packed;
  const int64_t p = shared_.kernels.tile_rows;
  for (size_t t = 0; t < group.tiles.size(); ++t) {
    const Tile& tile = group.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    const Certificate certificate{tile.norms, packed.slopes.data(), packed.errors.data(), packed.slack,
                                  packed.underflow};
    uint64_t unproved = shared_.kernels.certify(
        certificate, {worker.best.data() + at, worker.second.data() + at, worker.index.data() + at});
    if (tile.rows < 64) unproved &= (uint64_t{1} << tile.rows) - 1;
    for (int64_t i = 0; i < tile.rows; ++i) {
      worker.labels[static_cast<size_t>(at + i)] = static_cast<uint32_t>(worker.index[static_cast<size_t>(at + i)]);
    }
    result.certified += tile.rows - std::popcount(unproved);
    for (; unproved != 0; unproved &= unproved - 1) {
      resolve_row(target, group, at + std::countr_zero(unproved), worker, result);
    }
  }
}

void CpuSession::resolve_row(const Target& target, const Group& group, int64_t row_in_group, Worker& worker,
                             PassResult& result) const {
  const int64_t p = shared_.kernels.tile_rows;
  find_candidates(target.packed, group.tiles[static_cast<size_t>(row_in_group / p)], row_in_group % p, worker);
  result.resolved += 1;
  result.candidates += static_cast<int64_t>(worker.candidates.size());
  worker.labels[static_cast<size_t>(row_in_group)] =
      nearest(*target.prototypes, group.first_row + row_in_group, worker.candidates, worker);
}

// All prototypes whose upper score reaches the best lower score: the nearest is surely among them.
void CpuSession::find_candidates(const PackedPrototypes& packed, const Tile& tile, int64_t lane, Worker& worker) const {
  const int64_t p = shared_.kernels.tile_rows;
  const int64_t r = shared_.kernels.block_prototypes;
  const int64_t d = shared_.input.points.d;
  const float norm = tile.norms[lane];
  worker.scores.resize(static_cast<size_t>(packed.blocks * r));
  float* scores = worker.scores.data();
  float threshold = std::numeric_limits<float>::lowest();
  for (int64_t b = 0; b < packed.blocks; ++b, scores += r) {
    std::copy_n(packed.offsets.data() + b * r, r, scores);
    const float* block = packed.values.data() + b * r * d;
    for (int64_t j = 0; j < d; ++j) {
      const float x = tile.values[j * p + lane];
      for (int64_t i = 0; i < r; ++i) scores[i] += x * block[j * r + i];
    }
    for (int64_t i = 0; i < r; ++i) {
      scores[i] += norm * packed.slopes[static_cast<size_t>(b * r + i)];
      threshold = std::max(threshold, scores[i] - 2 * packed.bound(b * r + i, norm));
    }
  }
  threshold -= packed.point_slack(norm);
  // Rounding of the threshold itself; the padding's scores are far below any real one.
  threshold -= std::abs(threshold) * 0x1p-20F;
  worker.candidates.clear();
  for (int64_t k = 0; k < packed.k; ++k) {
    if (!(worker.scores[static_cast<size_t>(k)] < threshold)) worker.candidates.push_back(static_cast<uint32_t>(k));
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

uint32_t CpuSession::nearest(const Matrix& prototypes, int64_t row, std::span<const uint32_t> candidates,
                             Worker& worker) const {
  uint32_t best = candidates.empty() ? 0 : candidates.front();
  if (candidates.size() == 1) return best;
  double least = std::numeric_limits<double>::infinity();
  for (const uint32_t k : candidates) {
    const double d2 = distance(row, prototypes, k, worker);
    if (d2 < least) {
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
