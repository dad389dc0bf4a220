#include "backend/cuda/product/residue_screen.h"

#include <algorithm>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int kColumnTiles = kResidueColumns / kResidueLines;  // of lines, for a tile of the product

int64_t tiles_of(int64_t lines, int tiles_together) {
  const int64_t together = int64_t{kResidueLines} * tiles_together;
  return (lines + together - 1) / together * tiles_together;
}

int64_t depth_blocks_of(const LineShape& shape) {
  return std::max<int64_t>(1, (shape.depth + kResidueDepth - 1) / kResidueDepth);
}

int64_t side_bytes(const ResidueBasis& basis, const LineShape& shape, int64_t tiles) {
  return tiles * depth_blocks_of(shape) * kTileBytes * basis.count + tiles * kResidueLines * 24;
}

}  // namespace

int64_t residue_bytes(const ResidueBasis& basis, const LineShape& shape, int64_t rows, int64_t columns) {
  const int64_t down = tiles_of(rows, 1), across = tiles_of(columns, kColumnTiles);
  return side_bytes(basis, shape, down) + side_bytes(basis, shape, across) +
         down * kResidueLines * across * kResidueLines * basis.count;
}

ResidueScreen::Side::Side(const ResidueBasis& basis, const LineShape& shape, int64_t most_tiles, int tiles_together)
    : tiles_together_(tiles_together) {
  const int64_t plane = most_tiles * depth_blocks_of(shape) * kTileBytes;
  const auto lines = static_cast<size_t>(most_tiles * kResidueLines);
  values_ = DeviceBuffer<int8_t>(static_cast<size_t>(plane * basis.count), "residues of a factor");
  measures_ = DeviceBuffer<unsigned long long>(2 * lines, "measures of a factor's residues");
  bounds_ = DeviceBuffer<float>(2 * lines, "bounds of a factor's residues");
  lines_.values = values_.data();
  lines_.plane_bytes = plane;
  lines_.depth_blocks = static_cast<int32_t>(depth_blocks_of(shape));
  lines_.squares = measures_.data();
  lines_.lost = measures_.data() + lines;
  lines_.norms = bounds_.data();
  lines_.errors = bounds_.data() + lines;
}

ResidueFactor ResidueScreen::Side::begin(const PackedLines& lines, cudaStream_t stream) {
  lines_.tiles = static_cast<int32_t>(tiles_of(lines.count, tiles_together_));
  fill_zero(measures_.data(), measures_.size(), stream, "packing residues");
  return {lines, lines_};
}

ResidueScreen::ResidueScreen(const ResidueBasis& basis, const LineShape& shape, int64_t most_rows, int64_t most_columns)
    : basis_(basis),
      a_(basis, shape, tiles_of(most_rows, 1), 1),
      b_(basis, shape, tiles_of(most_columns, kColumnTiles), kColumnTiles) {
  const int64_t entries = tiles_of(most_rows, 1) * tiles_of(most_columns, kColumnTiles) * kResidueLines * kResidueLines;
  sums_ = DeviceBuffer<uint8_t>(static_cast<size_t>(entries * basis.count), "residues of the product");
}

void ResidueScreen::screen(const ProductBlock& block, bool new_columns, int multiprocessors, cudaStream_t stream) {
  std::vector<ResidueFactor> packed = {a_.begin(block.a, stream)};
  if (new_columns) packed.push_back(b_.begin(block.b, stream));
  pack_residues(packed, basis_, block.wide, stream);
  ResidueBlock task;
  task.block = block;
  task.basis = basis_;
  task.a = a_.lines();
  task.b = b_.lines();
  task.sums = sums_.data();
  task.pitch = int64_t{task.b.tiles} * kResidueLines;
  task.plane_bytes = task.pitch * task.a.tiles * kResidueLines;
  multiply_residues(task, multiprocessors, stream);
  certify_residues(task, stream);
}

}  // namespace manymeans::cuda
