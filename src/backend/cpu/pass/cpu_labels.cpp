// Points that come once are screened and resolved as in a pass. They are packed block by block, and nothing is summed.
#include "backend/cpu/pass/cpu_labels.h"

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

// The block is read here for the first time, and packed next.
bool is_acceptable(const CpuShared& shared, const TileBlock& block, Worker& worker) {
  const PointsView& points = shared.input.points;
  const int64_t count = block.rows * points.d;
  switch (points.type) {
    case DataType::kUInt8:
    case DataType::kInt8: return true;
    case DataType::kFloat64:
      return shared.kernels.panels.acceptable_f64(static_cast<const double*>(points.data) + block.first_row * points.d,
                                                  count);
    default: break;
  }
  if (points.type != DataType::kFloat32) worker.wide_f32.resize(static_cast<size_t>(count));
  return shared.kernels.panels.acceptable_f32(
      rows_as<float>(points, block.first_row, block.rows, worker.wide_f32.data()), count);
}

}  // namespace

bool label_points(const CpuShared& shared, const PassTarget& target, ThreadPool& pool, Labels& labels, double* d2) {
  const int64_t n = shared.input.points.n, k = target.prototypes->rows();
  const SessionPlan plan = plan_session(shared, {&k, 1}, pool.size());
  const CpuDistances distances(shared);
  CpuScreen screen(shared, plan, pool.size());
  screen.prepare();
  std::atomic<bool> good{true};
  const auto label_tiles = [&](int w, int64_t first, int64_t last) {
    Worker& worker = screen.worker(w);
    TileBlock block = screen.make_block(first, last);
    if (!is_acceptable(shared, block, worker)) good = false;
    if (!good) return;
    PassResult ignored;
    screen.load_tiles(block, worker);
    if (std::ranges::all_of(block.tiles, near_enough)) {
      screen.find_labels(target, block, worker, ignored);
    } else {
      screen.find_all_labels(target, block, worker, ignored);
    }
    labels.write(block.first_row, block.rows, worker.labels.data());
    if (d2 == nullptr) return;
    const LabelledBlock rows{block.first_row, block.rows, worker.labels.data()};
    distances.find_distances(*target.prototypes, rows, worker.wide_f32, d2 + block.first_row);
  };
  pool.for_each_range((n + screen.tile_rows() - 1) / screen.tile_rows(), plan.tiles_per_block, label_tiles);
  return good;
}

}  // namespace manymeans
