// Arguments and launches of the kernels of seeding (seed_launches.cu); class DeviceSeeding does the rest.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/term_splitter.h"
#include "backend/cuda/device/wide.cuh"

#include <cuda_runtime.h>

#include <cstdint>

namespace manymeans::cuda {

constexpr int kSeedTileColumns = 8;  ///< candidates of one model that share a matrix product: its narrowest
constexpr int kMaxSeedTiles = 4;     ///< of one reading of the points
constexpr int kSeedSumRows = 256;    ///< rows of a block whose terms' sum is kept
constexpr int kMaxUnitRows = 256;    ///< that a warp takes at a time, at least 32
constexpr int kMaxTargets = 32;      ///< of one search
static_assert(kSeedSumRows % kMaxUnitRows == 0);

/// Bytes of a row's codes: the matrix products take 64 columns at a time.
constexpr int64_t code_bytes_of(int64_t d) {
  return (d + 63) / 64 * 64;
}
/// Blocks of n rows.
constexpr int64_t sum_blocks(int64_t n) {
  return (n + kSeedSumRows - 1) / kSeedSumRows;
}
/// Words of a tile's marks: a byte a row, in whole units.
constexpr int64_t hit_words(int64_t n) {
  return (n + kMaxUnitRows - 1) / kMaxUnitRows * (kMaxUnitRows / 4);
}

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
  unsigned* hits = nullptr;           ///< a byte a row: which candidates lower it; nullptr: nobody asks
  int columns = 0;                    ///< that are no padding
  TermSplitter splitter;
};

/// Candidates of many models, a tile after the other, and what becomes of them. All of it is device memory.
struct SeedCandidates {
  const SeedTile* tiles = nullptr;
  int count = 0;                  ///< of tiles; for the screen 1, 2 or a multiple of 4
  void* centres = nullptr;        ///< tiles x 8 x d, of the prototypes' type
  int8_t* fragments = nullptr;    ///< tiles x code_bytes / 64 x 32 words of 16 bytes: the matrix unit's operands
  SeedColumn* columns = nullptr;  ///< tiles x 8
  int64_t* gains = nullptr;       ///< tiles x 8 x limbs: by how much a candidate lowers the potential
  int64_t* picked = nullptr;      ///< tiles x 8: their rows; -1 at the beginning of a tile that has none to look at
};

struct SeedArguments {
  DevicePoints points;
  const int8_t* codes = nullptr;  ///< n x code_bytes; nullptr: no screen
  int64_t code_bytes = 0;         ///< columns, rounded up to 64
  const float* radii = nullptr;   ///< n
  SeedCandidates candidates;
  bool chooses = false;                 ///< candidates are rows that the device picked: some tiles may have none
  bool lowering = false;                ///< lower `least` itself; else sum gains and mark hits
  int unit_rows = kMaxUnitRows;         ///< a power of two
  unsigned long long* exact = nullptr;  ///< counts canonical distances
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

/// The state of one model's rows.
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
  const double* range = nullptr;    ///< d: of all rows
  const double* minimum = nullptr;  ///< d: likewise
  double* centre = nullptr;         ///< d, out
  double* step = nullptr;           ///< d, out
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

/// One model whose next centre is sought.
struct SeedModel {
  SeedRows rows;
  const unsigned* hits = nullptr;  ///< of its first tile
  int tile = 0;                    ///< the first of its tiles
  int draws = 0;                   ///< candidates
  int chosen = -1;                 ///< the candidate that becomes a centre; -1: the one that lowers the potential most
  uint64_t key = 0;                ///< of its random numbers
  int64_t centres = 0;             ///< before the first step
  int64_t k = 0;                   ///< wanted
};

/// A step of some models: one more centre for each.
struct SeedStep {
  const SeedModel* models = nullptr;
  int count = 0;
  int64_t index = 0;          ///< of the step
  int64_t hit_words = 0;      ///< of a tile
  int64_t* chosen = nullptr;  ///< count, out: the rows that became centres, -1 where there was none; or nullptr
};

/// Sums that are less than the total.
struct SeedTargets {
  Wide<3> target[kMaxTargets];
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

// All functions below are asynchronous.

/// Chooses centres and steps.
void find_seed_frame(const DevicePoints& points, const SeedColumnsOfSample& sample, cudaStream_t stream);
void encode_rows(const DevicePoints& points, const SeedFrame& frame, const SeedEncoding& encoding, cudaStream_t stream);
/// The least distances to the first centres.
void find_first_distances(const DevicePoints& points, const SeedFirst& first, cudaStream_t stream);
/// Thresholds from least distances and, if `sums`, the terms' sums, which add to the total.
void summarize_rows(const DevicePoints& points, const SeedRows& rows, const SeedFrame& frame, bool sums,
                    cudaStream_t stream);
/// Codes candidates for the screen; their centres are there.
void code_candidates(const SeedArguments& arguments, const SeedFrame& frame, cudaStream_t stream);
/// Draws the models' candidates, and prepares them for compare_candidates().
void draw_candidates(const SeedArguments& arguments, const SeedFrame& frame, const SeedStep& step, cudaStream_t stream);
/// Reads all points, by their codes where there are any, else for every distance.
void compare_candidates(const SeedArguments& arguments, cudaStream_t stream);
/// The candidate that is chosen of each model becomes a centre: the rows that it lowers are known.
void add_chosen(const SeedArguments& arguments, const SeedFrame& frame, const SeedStep& step, cudaStream_t stream);
/// picked[i] = the first row with T_0 + .. + T_row > target i.
void pick_rows(const DevicePoints& points, const SeedRows& rows, const SeedTargets& targets, int64_t* picked,
               cudaStream_t stream);
/// Lists the rows that are drawn, in any order.
void sample_rows(const DevicePoints& points, const SeedRows& rows, const SeedDraw& draw, const SeedRowsFound& found,
                 cudaStream_t stream);

}  // namespace manymeans::cuda
