// A first look in bytes, in passes that know the labels of the pass before: docs/developer/screens.md, "A first look in
// bytes".
#include "backend/cpu/pass/cpu_screen.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace manymeans {

// Labels of a block from the labels of the pass before. A row's threshold is the distance to its assigned prototype;
// prototypes that may be nearer get canonical distances.
void CpuScreen::look_and_resolve(const PassTarget& target, const TileBlock& block, Worker& worker,
                                 PassResult& result) const {
  const int64_t p = tile_rows();
  const CodedKernels& kernels = *shared_.plan.in_bytes;
  if (worker.d2.size() < static_cast<size_t>(block.rows)) worker.d2.resize(static_cast<size_t>(block.rows));
  distances_.find_distances(*target.prototypes, {block.first_row, block.rows, worker.labels.data()}, worker.wide_f32,
                            worker.d2.data());
  worker.screen.hits.resize(target.coded.offsets.size());
  worker.screen.thresholds.resize(static_cast<size_t>(p));
  float* thresholds = worker.screen.thresholds.data();
  for (size_t t = 0; t < block.tiles.size(); ++t) {
    const Tile& tile = block.tiles[t];
    const auto at = static_cast<int64_t>(t) * p;
    const CodedTile coded = shared_.coded.tile(block.first_row / p + static_cast<int64_t>(t));
    shared_.kernels.seed_thresholds({tile.norms, worker.d2.data() + at, tile.rows, shared_.packed.frame().scale,
                                     static_cast<double>(target.packed.underflow), thresholds});
    std::fill(thresholds + tile.rows, thresholds + p, std::numeric_limits<float>::infinity());
    worker.screen.hit_count = kernels.look(
        {target.coded.view(shared_.coded), coded.values, coded.radii, thresholds, worker.screen.hits.data()});
    resolve_hits(target, block, t, worker, result);
  }
}

// Canonical distances have the last word; ties go to the lowest index, in whatever order the hits come.
void CpuScreen::resolve_hits(const PassTarget& target, const TileBlock& block, size_t tile, Worker& worker,
                             PassResult& result) const {
  const PackedPrototypes& packed = target.packed;
  const auto at = static_cast<size_t>(tile) * static_cast<size_t>(tile_rows());
  const uint64_t present = ~uint64_t{0} >> (64 - block.tiles[tile].rows);
  uint64_t doubtful = 0;
  for (const CodedHit& hit : std::span(worker.screen.hits).first(static_cast<size_t>(worker.screen.hit_count))) {
    if (hit.place % kSpanColumns >= packed.columns[static_cast<size_t>(hit.place / kSpanColumns)]) continue;  // padding
    const uint32_t prototype = packed.order[static_cast<size_t>(hit.place)];
    for (uint64_t bits = hit.rows & present; bits != 0; bits &= bits - 1) {
      const size_t row = at + static_cast<size_t>(std::countr_zero(bits));
      if (worker.labels[row] == prototype) continue;
      doubtful |= bits & -bits;
      ++result.candidates;
      const double d2 =
          distances_.distance(block.row(static_cast<int64_t>(row)), *target.prototypes, prototype, worker.wide_f32);
      if (d2 < worker.d2[row] || (d2 == worker.d2[row] && prototype < worker.labels[row])) {
        worker.d2[row] = d2;
        worker.labels[row] = prototype;
      }
    }
  }
  const int64_t resolved = std::popcount(doubtful);
  result.resolved += resolved;
  result.candidates += resolved;  // the assigned prototypes
  result.certified += block.tiles[tile].rows - resolved;
}

}  // namespace manymeans
