// The tensor-core screen of a block whose points and prototypes are in its shared memory: docs/developer/screens.md,
// "Small problems". It lists the rows that it does not prove there.
#pragma once

#include "backend/cuda/device/pass_device.cuh"
#include "backend/cuda/persistent/persistent_passes.h"
#include "backend/cuda/tensor/matrix_finish.cuh"
#include "backend/cuda/tensor/warp_product.cuh"

#include <cuda_fp16.h>

#include <cfloat>
#include <cstdint>

namespace manymeans::cuda {

constexpr int kPersistentThreads = 512;
constexpr int kPersistentWarps = kPersistentThreads / 32;

/// A row with the prototypes that are possible, in any order.
struct UnprovedRow {
  uint32_t count;  ///< with more than kMaxCandidates all count as possible
  uint16_t row;    ///< of the block
  uint16_t candidates[kMaxCandidates];
};
constexpr uint16_t kNoPersistentLabel = 0xffff;

/// Counts that the threads of a block share.
struct PersistentTally {
  uint32_t unproved;              ///< rows
  uint32_t entries;               ///< of rows that changed
  uint32_t resolved, candidates;  ///< less than 2^25: rows of a block times prototypes
};

/// A block's shared memory, and its share of the rows.
struct PersistentBlock {
  int64_t first;  ///< row
  int32_t rows;   ///< that exist
  int32_t tiles;
  int32_t stride;

  float2* terms;            ///< of a column: h + error, rounded up, and slope
  __half* values;           ///< of the rows
  __half* columns;          ///< of the prototypes
  float *radii, *norms;     ///< of the rows
  float* errors;            ///< of the columns
  UnprovedRow* unproved;    ///< rows that are not proved, and then:
  uint32_t* entries;        ///< rows that changed, in label order; in the same place
  uint32_t* places;         ///< of each cluster among the entries
  int32_t* gains;           ///< of each cluster: rows
  uint16_t* labels;         ///< (models, max rows of a block): before the pass
  uint16_t* to;             ///< those that the pass finds
  PassRange* ranges;        ///< of the models
  ColumnRange* columns_of;  ///< of the models
  PersistentTally* tally;
};

/// The model that a block is at.
struct PersistentModel {
  const ColumnRange& place;
  int k;
  int padded_columns;  ///< of a row
  bool far = false;    ///< a prototype is too far out to be screened
};

/// The bytes of a row and of a column, in addition to their values.
constexpr int64_t kPersistentRowBytes = 2 * sizeof(float) + sizeof(UnprovedRow) + sizeof(uint16_t);
constexpr int64_t kPersistentColumnBytes = sizeof(float2) + sizeof(float) + 2 * sizeof(uint32_t);
constexpr int64_t kPersistentModelBytes = kMaxPersistentModels * (sizeof(PassRange) + sizeof(ColumnRange));
static_assert(kPersistentModelBytes % 16 == 0);
static_assert(sizeof(UnprovedRow) >= 2 * sizeof(uint32_t), "a row that changed has two entries");

__device__ __forceinline__ PersistentBlock lay_out(const PersistentTask& task, unsigned char* memory,
                                                   PersistentTally& tally) {
  const PersistentShape& shape = task.shape;
  PersistentBlock here;
  here.tally = &tally;
  const auto tiles = static_cast<int32_t>((task.points.rows + kPersistentTile - 1) / kPersistentTile);
  const int32_t first_tile = static_cast<int32_t>(static_cast<int64_t>(tiles) * blockIdx.x / gridDim.x);
  here.tiles = static_cast<int32_t>(static_cast<int64_t>(tiles) * (blockIdx.x + 1) / gridDim.x) - first_tile;
  here.first = static_cast<int64_t>(first_tile) * kPersistentTile;
  here.rows =
      static_cast<int32_t>(min(static_cast<int64_t>(here.tiles) * kPersistentTile, task.points.rows - here.first));
  here.stride = shape.stride;
  // Largest alignment first; every array's length is a multiple of 16 bytes.
  const auto take = [&](int64_t bytes) {
    unsigned char* const at = memory;
    memory += bytes;
    return at;
  };
  here.values = reinterpret_cast<__half*>(take(static_cast<int64_t>(shape.rows) * shape.stride * 2));
  here.columns = reinterpret_cast<__half*>(take(static_cast<int64_t>(shape.columns) * shape.stride * 2));
  here.terms = reinterpret_cast<float2*>(take(shape.columns * static_cast<int64_t>(sizeof(float2))));
  here.errors = reinterpret_cast<float*>(take(shape.columns * static_cast<int64_t>(sizeof(float))));
  here.places = reinterpret_cast<uint32_t*>(take(shape.columns * static_cast<int64_t>(sizeof(uint32_t))));
  here.gains = reinterpret_cast<int32_t*>(take(shape.columns * static_cast<int64_t>(sizeof(int32_t))));
  here.radii = reinterpret_cast<float*>(take(shape.rows * static_cast<int64_t>(sizeof(float))));
  here.norms = reinterpret_cast<float*>(take(shape.rows * static_cast<int64_t>(sizeof(float))));
  here.unproved = reinterpret_cast<UnprovedRow*>(take(shape.rows * static_cast<int64_t>(sizeof(UnprovedRow))));
  here.entries = reinterpret_cast<uint32_t*>(here.unproved);
  here.ranges = reinterpret_cast<PassRange*>(take(kMaxPersistentModels * static_cast<int64_t>(sizeof(PassRange))));
  here.columns_of =
      reinterpret_cast<ColumnRange*>(take(kMaxPersistentModels * static_cast<int64_t>(sizeof(ColumnRange))));
  here.labels = reinterpret_cast<uint16_t*>(take(shape.models * shape.rows * static_cast<int64_t>(sizeof(uint16_t))));
  here.to = reinterpret_cast<uint16_t*>(take(shape.rows * static_cast<int64_t>(sizeof(uint16_t))));
  return here;
}

/// `count` rows of packed values; rows from `some` on are zero.
struct PackedValues {
  const void* values;
  int64_t first;
  int32_t padded_columns;
  int count, some;
};

/// Loads 16 bytes at a time.
__device__ __forceinline__ void load_values(const PackedValues& from, int stride, __half* to) {
  const auto& [values, first, padded_columns, count, some] = from;
  const int pieces = padded_columns / 8;
  const auto* source = reinterpret_cast<const uint4*>(static_cast<const __half*>(values) + first * padded_columns);
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < count * pieces; i += kPersistentThreads) {
    const int row = i / pieces;
    const uint4 value = row < some ? source[i] : uint4{0, 0, 0, 0};
    *reinterpret_cast<uint4*>(to + row * stride + (i - row * pieces) * 8) = value;
  }
}

/// The block's points, once a batch.
__device__ __forceinline__ void load_points(const PersistentTask& task, const PersistentBlock& here) {
  const int rows = here.tiles * kPersistentTile;  // padded rows exist
  load_values({task.points.values, here.first, task.points.padded_columns, rows, rows}, here.stride, here.values);
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < rows; i += kPersistentThreads) {
    here.radii[i] = task.points.radii[here.first + i];
    here.norms[i] = task.points.norms[here.first + i];
  }
}

/// The models and the rows' labels, once a batch. Begins and ends with the block synchronised.
__device__ __forceinline__ void load_models(const PersistentTask& task, const PersistentBlock& here) {
  const PassRanges& ranges = task.sums.ranges;
  if (static_cast<int>(threadIdx.x) < ranges.count) {
    here.ranges[threadIdx.x] = ranges.at[threadIdx.x];
    here.columns_of[threadIdx.x] = task.columns.columns.ranges[threadIdx.x];
  }
  __syncthreads();
#pragma unroll 1
  for (int r = 0; r < ranges.count; ++r) {
    const PassRange& range = here.ranges[r];
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < here.rows; i += kPersistentThreads) {
      const uint32_t label =
          range.first_pass != 0 ? kNoPersistentLabel : load_label(task.sums.current, range.slot, here.first + i);
      here.labels[r * task.shape.rows + i] = static_cast<uint16_t>(label);
    }
  }
  __syncthreads();
}

/// A model's prototypes as prepared for this pass; whether one of them is too far out to be screened. Ends with the
/// block synchronised.
__device__ __forceinline__ bool load_columns(const PersistentTask& task, const PersistentModel& model,
                                             const PersistentBlock& here) {
  const int k = model.k;
  const PackedColumns& packed = task.columns.columns;
  const int count = (k + kPersistentColumns - 1) / kPersistentColumns * kPersistentColumns;
  load_values({packed.values, model.place.first, model.padded_columns, count, k}, here.stride, here.columns);
  bool far = false;
#pragma unroll 1
  for (int c = static_cast<int>(threadIdx.x); c < count; c += kPersistentThreads) {
    const int column = model.place.first + c;
    const float offset = c < k ? packed.offsets[column] : kNeverWins;
    const float error = c < k ? packed.errors[column] : 0.0F;
    here.terms[c] = {__fadd_ru(offset, error), c < k ? packed.slopes[column] : 0.0F};
    here.errors[c] = error;
    here.places[c] = 0;
    here.gains[c] = 0;
    far |= c < k && offset == kNeverWins;
  }
  return __syncthreads_or(far) != 0;
}

/// The scores of a warp's 16 rows and 32 columns from `first` on; sums[t] belongs to columns 8 t ..
__device__ __forceinline__ void multiply_tile(const PersistentBlock& here, int padded_columns, int tile, int first,
                                              float (&sums)[kPersistentColumns / 8][4]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const __half* const rows = here.values + (tile * kPersistentTile + lane % 16) * here.stride + lane / 16 * 8;
  const __half* const columns = here.columns + (first + lane / 16 * 8 + lane % 8) * here.stride + lane / 8 % 2 * 8;
#pragma unroll
  for (int t = 0; t < kPersistentColumns / 8; ++t) sums[t][0] = sums[t][1] = sums[t][2] = sums[t][3] = 0;
#pragma unroll 2
  for (int j = 0; j < padded_columns; j += 16) {
    uint32_t a[4];
    load_four_blocks(a, rows + j);
#pragma unroll
    for (int pair = 0; pair < kPersistentColumns / 16; ++pair) {
      uint32_t b[4];
      load_four_blocks(b, columns + pair * 16 * here.stride + j);
      multiply_add(sums[2 * pair], a, b[0], b[1]);
      multiply_add(sums[2 * pair + 1], a, b[2], b[3]);
    }
  }
}

/// Upper scores of two rows and two neighbouring columns, whose terms these are.
__device__ __forceinline__ void upper_scores(const float (&sums)[4], const float4& terms, const float (&radii)[2],
                                             float (&upper)[2][2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    upper[r][0] = __fmaf_ru(radii[r], terms.y, __fadd_ru(sums[2 * r], terms.x));
    upper[r][1] = __fmaf_ru(radii[r], terms.w, __fadd_ru(sums[2 * r + 1], terms.z));
  }
}

/// Calls body(r, column, upper score) for a thread's columns in the group from `first` on, and its two rows.
template <class Body>
__device__ __forceinline__ void for_scores(const PersistentBlock& here, const float (&sums)[kPersistentColumns / 8][4],
                                           const float (&radii)[2], int first, const Body& body) {
#pragma unroll
  for (int t = 0; t < kPersistentColumns / 8; ++t) {
    const int column = first + t * 8 + static_cast<int>(threadIdx.x % 4) * 2;
    float upper[2][2];
    upper_scores(sums[t], *reinterpret_cast<const float4*>(here.terms + column), radii, upper);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
#pragma unroll
      for (int r = 0; r < 2; ++r) body(r, column + e, upper[r][e]);
    }
  }
}

/// The rows of a tile that its warp could not prove. Bit 4 i + r of `judged` is row r of the warp's i-th four threads.
/// Lane 4 i + r knows the row and its threshold.
struct UnprovedTile {
  int tile;
  uint32_t judged;
  int row;
  float lower;
};

/// Notes the columns that reach the rows' thresholds. `sums`: of the last columns.
__device__ __forceinline__ void gather_columns(const PersistentBlock& here, const PersistentModel& model,
                                               const UnprovedTile& unproved, const float (&radii)[2],
                                               float (&sums)[kPersistentColumns / 8][4]) {
  const auto& [tile, judged, row, lower] = unproved;
  const int lane = static_cast<int>(threadIdx.x % 32);
  uint32_t slot = 0;
  if (judged >> lane & 1) {
    slot = atomicAdd(&here.tally->unproved, 1U);
    here.unproved[slot].row = static_cast<uint16_t>(row);
    here.unproved[slot].count = model.far ? kMaxCandidates + 1 : 0;
  }
  __syncwarp();
  if (model.far) return;
  UnprovedRow* entries[2];
  float thresholds[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int knows = (lane & ~3) + r;
    entries[r] = here.unproved + __shfl_sync(~0U, slot, knows);
    thresholds[r] = __shfl_sync(~0U, lower, knows);
    if ((judged >> knows & 1) == 0) entries[r] = nullptr;
  }
#pragma unroll 1
  for (int first = 0; first < model.k; first += kPersistentColumns) {
    if (model.k > kPersistentColumns) multiply_tile(here, model.padded_columns, tile, first, sums);
    uint32_t reached[2] = {0, 0};  // bit: column - first
    for_scores(here, sums, radii, first, [&](int r, int column, float upper) {
      if (!(upper < thresholds[r])) reached[r] |= 1U << (column - first);  // so that NaN counts
    });
#pragma unroll 1
    for (int r = 0; r < 2; ++r) {
      UnprovedRow* const entry = r == 0 ? entries[0] : entries[1];
      for (uint32_t bits = entry == nullptr ? 0 : (r == 0 ? reached[0] : reached[1]); bits != 0; bits &= bits - 1) {
        const int column = first + __ffs(static_cast<int>(bits)) - 1;
        if (column >= model.k) break;  // padding
        const uint32_t at = atomicAdd(&entry->count, 1U);
        if (at < kMaxCandidates) entry->candidates[at] = static_cast<uint16_t>(column);
      }
    }
  }
}

/// Looks at all rows of the block, a warp at 16: writes labels of proved rows, and entries of the others.
__device__ __forceinline__ void screen_rows(const PersistentBlock& here, const PersistentModel& model) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int tile = static_cast<int>(threadIdx.x / 32); tile < here.tiles; tile += kPersistentWarps) {
    const int first_row = tile * kPersistentTile + lane / 4;
    const float radii[2] = {here.radii[first_row], here.radii[first_row + 8]};
    BestTwo rows[2] = {{-FLT_MAX, -FLT_MAX, 0}, {-FLT_MAX, -FLT_MAX, 0}};
    float sums[kPersistentColumns / 8][4];
#pragma unroll 1
    for (int first = 0; first < model.k; first += kPersistentColumns) {
      multiply_tile(here, model.padded_columns, tile, first, sums);
      for_scores(here, sums, radii, first, [&](int r, int column, float upper) {
        rows[r].second = fmaxf(rows[r].second, fminf(rows[r].best, upper));
        rows[r].place = upper > rows[r].best ? column : rows[r].place;
        rows[r].best = fmaxf(rows[r].best, upper);
      });
    }
    const BestTwo mine = join_rows(rows);
    const int row = first_row + (lane % 2 != 0 ? 8 : 0);
    const float bound =
        __fmaf_ru(lane % 2 != 0 ? radii[1] : radii[0], here.terms[mine.place].y, here.errors[mine.place]);
    const float lower = lower_score(mine.best, bound, here.norms[row], model.place.slack, model.place.underflow);
    const bool proved = lower > mine.second && !model.far;
    const bool speaks = lane % 4 < 2 && row < here.rows;
    if (speaks && proved) here.to[row] = static_cast<uint16_t>(mine.place);
    const uint32_t judged = __ballot_sync(~0U, speaks && !proved);
    if (judged == 0) continue;
    gather_columns(here, model, {tile, judged, row, lower}, radii, sums);
  }
}

}  // namespace manymeans::cuda
