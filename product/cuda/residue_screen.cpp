#include "product/cuda/residue_screen.h"

#include <vector>

namespace manymeans::cuda {
namespace {

void lay_out_side(ResidueLines& lines, int64_t max_tiles, const ProductPlan& plan, MemoryCutter& from) {
  const int64_t depth_blocks = residue_depth_blocks(plan.shape.depth);
  lines.plane_bytes = max_tiles * depth_blocks * kTileBytes;
  lines.depth_blocks = static_cast<int32_t>(depth_blocks);
  lines.values = from.cut<int8_t>(lines.plane_bytes * plan.basis.count);
  lines.norms = from.cut<float>(max_tiles * kResidueLines);
  lines.errors = from.cut<float>(max_tiles * kResidueLines);
}

}  // namespace

void ResidueScreen::lay_out(const ProductPlan& plan, MemoryCutter& from) {
  const int64_t down = residue_row_tiles(plan.rows), across = residue_column_tiles(plan.columns);
  task_.basis = plan.basis;
  lay_out_side(task_.a, down, plan, from);
  lay_out_side(task_.b, across, plan, from);
  task_.sums = from.cut<uint8_t>(down * across * kResidueLines * kResidueLines * plan.basis.count);
  row_measures_ = down * kResidueLines;
  column_measures_ = across * kResidueLines;
}

void ResidueScreen::measure_in(unsigned long long* measures) {
  task_.a.squares = measures;
  task_.a.lost = task_.a.squares + row_measures_;
  task_.b.squares = task_.a.lost + row_measures_;
  task_.b.lost = task_.b.squares + column_measures_;
}

void ResidueScreen::screen(const ProductBlock& block, bool new_columns, int multiprocessors, cudaStream_t stream) {
  task_.block = block;
  task_.a.tiles = static_cast<int32_t>(residue_row_tiles(block.rows()));
  task_.b.tiles = static_cast<int32_t>(residue_column_tiles(block.columns()));
  task_.pitch = int64_t{task_.b.tiles} * kResidueLines;
  task_.plane_bytes = task_.pitch * task_.a.tiles * kResidueLines;
  std::vector<ResidueFactor> packed = {{block.a, task_.a}};
  if (new_columns) packed.push_back({block.b, task_.b});
  pack_residues(packed, task_.basis, block.wide, stream);
  multiply_residues(task_, multiprocessors, stream);
  certify_residues(task_, stream);
}

}  // namespace manymeans::cuda
