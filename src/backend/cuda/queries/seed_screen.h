// What the kernels of device_seeding.cu are given.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/limbs.cuh"

#include <cstdint>

namespace manymeans::cuda {

constexpr int kSeedTileColumns = 8;  ///< candidates of one model that share a matrix product: its narrowest
constexpr int kMostSeedTiles = 4;    ///< of one reading of the points
constexpr int kSeedSumRows = 1024;   ///< rows of a block whose terms' sum is kept

/// A candidate as the screen sees it: what it cannot lower satisfies scale * product + slope * radius + offset <=
/// threshold. Columns that are only padding have offset -infinity.
struct SeedColumn {
  float scale;
  float slope;
  float offset;
  float unused;
};

/// Up to eight candidates of one model.
struct SeedTile {
  const float* thresholds = nullptr;  ///< n
  double* least = nullptr;            ///< n
  unsigned* hits = nullptr;           ///< a byte a row: which candidates lower it
  int columns = 0;                    ///< that are no padding
  TermSplitter splitter;
};

struct SeedArguments {
  DevicePoints points;
  const int8_t* codes = nullptr;        ///< n x code_bytes
  int64_t code_bytes = 0;               ///< columns, rounded up to 64
  const float* radii = nullptr;         ///< n
  const uint4* fragments = nullptr;     ///< tiles x code_bytes / 64 x 32
  const SeedColumn* columns = nullptr;  ///< tiles x 8
  const double* centres = nullptr;      ///< tiles x 8 x d
  int64_t* gains = nullptr;             ///< tiles x 8 x limbs: by how much a candidate lowers the potential
  unsigned long long* exact = nullptr;  ///< counts canonical distances
  bool lowering = false;                ///< lower `least` itself; else sum gains and mark hits
  int tiles = 0;
  SeedTile tile[kMostSeedTiles];
};

}  // namespace manymeans::cuda
