// What the kernels of seeding are given, and what launches them (seed_launches.cu); class DeviceSeeding does the rest.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/term_splitter.h"
#include "backend/cuda/device/wide.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

constexpr int kSeedTileColumns = 8;  ///< candidates of one model that share a matrix product: its narrowest
constexpr int kMostSeedTiles = 4;    ///< of one reading of the points
constexpr int kSeedSumRows = 1024;   ///< rows of a block whose terms' sum is kept
constexpr int kMostTargets = 32;     ///< of one search

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

/// How points become codes: y = (x - centre) * scale, code = rint(y / step) in -128 .. 127.
struct SeedFrame {
  const double* centre = nullptr;  ///< per column
  const double* step = nullptr;    ///< per column
  double scale = 1;                ///< a power of two: |y| is at most about 2^40
  double ratio = 0;                ///< kappa: radii are at least ratio * |codes|
  double slack = 0;                ///< t of the proof
  double bound_scale = 1;
};

/// What seeding knows of one model's rows.
struct SeedRows {
  double* least = nullptr;
  float* thresholds = nullptr;     ///< nullptr without a screen
  const float* squares = nullptr;  ///< at most |y|^2 / 2
  int64_t* blocks = nullptr;       ///< limbs of the terms of each kSeedSumRows rows
  int64_t* total = nullptr;        ///< limbs
  TermSplitter splitter;
};

/// The columns of a sample of `count` rows.
struct SeedColumnsOfSample {
  int64_t count = 0;
  double scale = 1;
  const double* range = nullptr;  ///< d: of all rows
  double* centre = nullptr;       ///< d, out
  double* step = nullptr;         ///< d, out
};

/// Rows 0, row_step, .. and what becomes of them.
struct SeedEncoding {
  int64_t row_step = 1;
  int64_t count = 0;
  int64_t code_bytes = 0;
  int8_t* codes = nullptr;  ///< null for a sample
  float* radii = nullptr;
  float* squares = nullptr;
  float* norms = nullptr;  ///< for a sample: |codes|
};

/// Centres that come first, count x d, and what becomes of them.
struct SeedFirst {
  const double* centres = nullptr;
  int64_t count = 0;
  double* least = nullptr;             ///< n
  unsigned long long* most = nullptr;  ///< bits of the largest w' * least; to be 0 before
};

/// Where candidates go, and whether there is a screen that wants more than the centres.
struct SeedColumnsOut {
  bool screen = false;
  double* centres = nullptr;
  int8_t* fragments = nullptr;
  SeedColumn* columns = nullptr;
};

/// The candidate of a trial that was chosen, and the rows that its tile's candidates lower.
struct SeedChosen {
  const unsigned* hits = nullptr;
  int column = 0;  ///< of the tile
  const double* centre = nullptr;
};

/// Sums that are less than the total.
struct SeedTargets {
  Wide<3> target[kMostTargets];
  int count = 0;
};
struct SeedDraw {
  uint64_t key = 0;
  uint32_t draw = 0;
  uint64_t factor = 0;
  double ratio = 0;  ///< factor * 2^64 / total, about
  Wide<3> total;
};

struct SeedRowsFound {
  int64_t* rows = nullptr;
  int64_t capacity = 0;
  unsigned long long* length = nullptr;
};

// All of these are asynchronous.

/// Chooses centres and steps.
void find_seed_frame(const DevicePoints& points, const SeedColumnsOfSample& sample, cudaStream_t stream);
void encode_rows(const DevicePoints& points, const SeedFrame& frame, const SeedEncoding& encoding, cudaStream_t stream);
/// The least distances to the first centres.
void find_first_distances(const DevicePoints& points, const SeedFirst& first, cudaStream_t stream);
/// Thresholds from least distances and, if `sums`, the terms' sums, which add to the total.
void summarize_rows(const DevicePoints& points, const SeedRows& rows, const SeedFrame& frame, bool sums,
                    cudaStream_t stream);
/// Candidates for the kernels that screen them. `raw`: tiles x 8 x d of the prototypes' type.
void prepare_candidates(const SeedArguments& arguments, const void* raw, const SeedFrame& frame,
                        const SeedColumnsOut& out, cudaStream_t stream);
/// Reads all points; `screened`: by their codes, else every distance.
void compare_candidates(const SeedArguments& arguments, bool screened, cudaStream_t stream);
/// The chosen candidate becomes a centre.
void add_centre(const DevicePoints& points, const SeedRows& rows, const SeedFrame& frame, const SeedChosen& chosen,
                cudaStream_t stream);
/// picked[i] = the first row with T_0 + .. + T_row > target i.
void pick_rows(const DevicePoints& points, const SeedRows& rows, const SeedTargets& targets, int64_t* picked,
               cudaStream_t stream);
/// Lists the rows that are drawn, in any order.
void sample_rows(const DevicePoints& points, const SeedRows& rows, const SeedDraw& draw, const SeedRowsFound& found,
                 cudaStream_t stream);

}  // namespace manymeans::cuda
