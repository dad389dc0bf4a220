// Labels of points that come once: screened and resolved as in a pass, but packed block by block, and nothing is
// summed.
#include "backend/cpu/pass/cpu_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <atomic>

namespace manymeans {
namespace {

// The frame is that of the prototypes, and points may lie anywhere: the screens' proofs hold up to this norm
// (docs/developer/screens.md, "Nothing overflows").
constexpr float kMaxRowNorm = 0x1p60F;

// False for NaN, too.
bool near_enough(const Tile& tile) {
  return std::all_of(tile.norms, tile.norms + tile.rows, [](float norm) { return norm <= kMaxRowNorm; });
}

}  // namespace

// The block is read here for the first time, and packed next.
bool CpuSession::is_acceptable(const TileBlock& block, Worker& worker) const {
  const PointsView& points = shared_.input.points;
  const int64_t count = block.rows * points.d;
  switch (points.type) {
    case DataType::kUInt8:
    case DataType::kInt8: return true;
    case DataType::kFloat64:
      return shared_.kernels.panels.acceptable_f64(static_cast<const double*>(points.data) + block.first_row * points.d,
                                                   count);
    default: break;
  }
  if (points.type != DataType::kFloat32) worker.wide_f32.resize(static_cast<size_t>(count));
  return shared_.kernels.panels.acceptable_f32(
      rows_as<float>(points, block.first_row, block.rows, worker.wide_f32.data()), count);
}

void CpuSession::label_new_rows(const Target& target, TileBlock& block, Worker& worker, PassResult& result) const {
  load_tiles(block, worker);
  if (std::ranges::all_of(block.tiles, near_enough)) {
    find_labels(target, block, worker, result);
  } else {
    find_all_labels(target, block, worker, result);
  }
}

bool CpuSession::label_only(const Target& target, Labels& labels, double* d2) {
  prepare_workers(1);
  const int64_t n = shared_.input.points.n;
  std::atomic<bool> good{true};
  const auto label_tiles = [&](int w, int64_t first, int64_t last) {
    Worker& worker = workers_[static_cast<size_t>(w)];
    TileBlock block = make_block(first, last);
    if (!is_acceptable(block, worker)) good = false;
    if (!good) return;
    label_new_rows(target, block, worker, worker.results[0]);
    labels.write(block.first_row, block.rows, worker.labels.data());
    if (d2 == nullptr) return;
    const LabelledBlock rows{block.first_row, block.rows, worker.labels.data()};
    distances_.find_distances(*target.prototypes, rows, worker.wide_f32, d2 + block.first_row);
  };
  pool_.for_each_range((n + tile_rows() - 1) / tile_rows(), plan_.tiles_per_block, label_tiles);
  return good;
}

}  // namespace manymeans
