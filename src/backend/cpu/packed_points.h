// The points as the screen sees them: centred, scaled by a power of two, rounded to float32, in tiles.
#pragma once

#include "backend/cpu/cpu_plan.h"
#include "backend/cpu/kernels.h"
#include "core/aligned_buffer.h"
#include "data/input.h"

#include <vector>

namespace manymeans {

/// y = (x - centre) * 2^exponent. The centre is any point (a median of a sample, so that outliers do not move it);
/// the exponent brings the largest norm near 2^60, where no product overflows or vanishes.
struct Frame {
  std::vector<double> centre;
  int exponent = 0;
  double scale = 1;  ///< 2^exponent
};

Frame find_frame(const Input& input);

/// One tile and its norms.
struct Tile {
  const float* values;
  const float* norms;
  int64_t rows;  ///< rows that exist; the others are zero
};

class PackedPoints {
 public:
  PackedPoints() = default;
  /// Packs everything if the plan says so.
  PackedPoints(const Input& input, const CpuKernels& kernels, const PointsPlan& plan, ThreadPool& pool);

  const Frame& frame() const { return frame_; }
  int64_t tiles() const { return tiles_; }
  /// Floats of one tile with its norms.
  size_t tile_floats() const;
  /// Tile t, from the copy or packed into `scratch` (tile_floats() floats, 64-byte aligned).
  Tile tile(int64_t t, float* scratch) const;

 private:
  void pack(int64_t t, float* out) const;

  const Input* input_ = nullptr;
  const CpuKernels* kernels_ = nullptr;
  Frame frame_;
  int64_t tiles_ = 0;
  AlignedBuffer<float> copy_;
};

}  // namespace manymeans
