// The points as the screen sees them: centred, scaled by a power of two, rounded, in tiles.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/screen/matrix_layout.h"
#include "backend/cpu/screen/points_plan.h"
#include "backend/frame.h"
#include "core/aligned_buffer.h"
#include "core/threads.h"
#include "data/input.h"

#include <cstddef>
#include <span>
#include <vector>

namespace manymeans {

/// One tile. Its norms[i] is at least |y_i|, and at most (1 + 2^-19) |y_i|. The errors of row i's scores are
/// proportional to radii[i].
struct Tile {
  const void* values;
  const float* norms;
  const float* radii;
  int64_t rows;  ///< rows that exist; the others are zero
};

/// How far a rounded copy x~ is from y: r >= |y - x~|, n >= |y|. In the bfloat16 formats radius = max(r, ratio * n), so
/// that r A + n B <= radius (A + B / ratio) with one number per row. Little is lost with the ratio near the usual r /
/// n. In float32 r is at most 2^-24 (1 + 2^-22) n always, and radius = n.
class PackedPoints {
 public:
  PackedPoints() = default;
  /// Packs everything if the plan says so.
  PackedPoints(const Input& input, const CpuKernels& kernels, const PointsPlan& plan, ThreadPool& pool);
  /// Other points in the same frame and format, packed tile by tile on request. Their norms may be any.
  PackedPoints of_others(const Input& input) const;

  const Frame& frame() const { return frame_; }
  const Input& input() const { return *input_; }
  const ScreenKernels& screen() const { return *screen_; }
  const MatrixLayout& layout() const { return layout_; }
  /// ScreenLayout::kLanes: words of a row.
  int64_t words() const {
    const auto d = static_cast<int64_t>(frame_.centre.size());
    return screen_->format == ScreenFormat::kFloat32 ? d : layout_.words();
  }
  double ratio() const { return ratio_; }
  /// kInt8Pair: y is about unit() times an integer of 16 bits; else 0.
  double unit() const { return unit_; }
  int64_t tile_rows() const { return screen_->tile_rows; }
  int64_t tiles() const { return tiles_; }
  /// Bytes of one tile with its norms and radii; a multiple of 64.
  static size_t tile_bytes(const ScreenKernels& screen, int64_t d);
  size_t tile_bytes() const { return tile_bytes_; }
  /// Bytes of the copy of all points for this screen.
  static int64_t bytes(const ScreenKernels& screen, const PointsView& points);
  /// Tile t, from the copy or packed into `scratch` (tile_bytes(), 64-byte aligned).
  Tile tile(int64_t t, std::byte* scratch) const;
  /// Copies some rows of tiles, ascending (row i of tile t is t * P + i), to as few tiles at `to` as hold them.
  void gather(std::span<const Tile> tiles, std::span<const uint32_t> rows, std::byte* to,
              std::vector<Tile>& gathered) const;
  /// The packed bytes of `count` tiles from `first` on, as far as there are any.
  std::span<const std::byte> ahead(int64_t first, int64_t count) const;
  /// One row, centred and scaled, in float32; returns an upper bound of its norm.
  float fine_row(int64_t row, float* y) const;

 private:
  static size_t values_bytes(const ScreenKernels& screen, int64_t d);
  Tile tile_at(const std::byte* values, int64_t rows) const;
  void pack(int64_t t, std::byte* out) const;
  void pack_matrix(int64_t first, int64_t rows, std::byte* values, float* norms, float* radii) const;
  int64_t pack_pairs(int64_t first, int64_t rows, std::byte* values, double* squares, double* rest_squares) const;
  void round_row(int64_t row, RoundedRow& rounded, float* wide) const;
  template <class Use>
  void for_each_of_sample(Use&& use) const;
  void find_unit();
  void find_ratio();

  const Input* input_ = nullptr;
  const CpuKernels* kernels_ = nullptr;
  const ScreenKernels* screen_ = nullptr;
  Frame frame_;
  MatrixLayout layout_;
  double ratio_ = 1;
  double unit_ = 0;
  size_t values_bytes_ = 0;  // of a tile
  size_t tile_bytes_ = 0;
  int64_t tiles_ = 0;
  AlignedBuffer<std::byte> copy_;
};

}  // namespace manymeans
