// Task and layouts of a screen of one format.
#pragma once

#include <cstdint>

namespace manymeans {

// Points are stored in tiles of P rows. Rows are vector lanes, so that the running best two scores of a row stay in a
// lane and are never reduced across lanes. Prototypes are stored in spans of up to 32 columns, sorted by norm. The
// score of row i and column k is  s = offset_k + x_i . z_k  of rounded copies, and
//
//   upper = s + radius_i * slope + error      with slope and error of the column's span
//
// is at least the true score; upper - 2 (radius_i * slope + error) is at most that: docs/developer/screens.md. True
// scores stay below 2^124 and computed ones below 2^125.5, so no error is above kMaxError for any radius and slope. No
// operation overflows, and compared values are never infinite or NaN. The lowest five bits of the upper score hold the
// column's place in its span: the bound covers that, and no lane needs an index.
constexpr int kSpanColumns = 32;
constexpr uint32_t kColumnBits = kSpanColumns - 1;
constexpr float kMaxError = 0x1p126F;

/// How values are rounded.
enum class ScreenFormat : uint8_t {
  kFloat32,
  kBfloat16,
  kBfloat16Pair,  ///< a high and a low part: about 16 bits
  kInt8Pair,      ///< integers of 16 bits in a high and a low byte: the bytes of kBfloat16, products of bytes
};

/// How rounded copies are stored.
enum class ScreenLayout : uint8_t {
  kLanes,  ///< words of four bytes, of one value or several: tile (words, P), columns in blocks (words, R)
  kSteps,  ///< for matrix units, below
};

/// Matrix units take products of 32 values ("steps"), in pairs of neighbours. A tile and a span have these shapes:
///   tile  (x_steps, P / 16, 16 pairs, 16 rows, 2)
///   span  (z_steps, 2, 16 columns, 32 values)
/// A step of 16 rows is 1 KiB, the right side of a matrix unit. Values j, j + 1 of a row are neighbours in it.
/// A step of 16 columns is 1 KiB, the left side.
/// Score = sum over the products p of step x[p] of the tile times step z[p] of the span. Format kInt8Pair has four
/// neighbours of one byte instead, 64 values a step. Its first `whole` products are of high bytes, the others, of a
/// high and a low byte, count 1/256 as much.
struct MatrixSteps {
  int x_steps;
  int z_steps;
  int products;
  int whole;
  const int32_t* x;  // products
  const int32_t* z;
};

/// Points of one tile and places for its results: best and second best upper score per span and row, (spans, P), with
/// their columns' places. No other upper score of the span exceeds the third.
struct ScreenTile {
  const void* values;
  const float* radii;  // P
  float* best;         // of the first span of the call
  float* second;
  float* third;
};

/// Prototypes of one call.
struct ScreenColumns {
  int64_t words;             // kLanes
  const MatrixSteps* steps;  // kSteps
  const void* values;        // of the first span
  const float* offsets;      // per column
  const float* slopes;       // per span
  const float* errors;
  const int32_t* widths;  // per span: columns of its 32 places that are computed
  const float* scales;    // per span, kInt8Pair: of a product of a high and a low byte
  int64_t spans;
};

struct ScreenTask {
  ScreenColumns columns;
  const ScreenTile* tiles;
  int64_t tile_count;
  const void* ahead;  // memory that is wanted soon after this call, to be fetched into the second cache
  int64_t ahead_bytes;
};

/// A tile whose rows have centres already, and candidates for further ones as columns.
struct HitsTile {
  const void* values;
  const float* radii;       // P
  const float* thresholds;  // P
  const float* weights;     // P
};

/// For seeding: which rows a column may come nearer to than their centres, and by how much.
struct HitsTask {
  ScreenColumns columns;
  const HitsTile* tiles;
  int64_t tile_count;
  uint64_t* hits;  // (tiles, spans * kSpanColumns): bit i is set if the upper score of row i is above its threshold
  /// Per place, added to: the sum over these rows of weight * (upper score - threshold), within kExcessRounding of
  /// itself.
  double* excess;
};

/// Relative loss of the additions of an excess in float32: at most 2^9 terms are added one after the other before
/// binary64 continues.
constexpr double kExcessRounding = 0x1p-14;

/// The screen of one format.
struct ScreenKernels {
  ScreenFormat format;
  ScreenLayout layout;
  int tile_rows;      ///< P, a multiple of 16, or of 8 for scalar code; at most 64
  int block_columns;  ///< R: a span's columns are stored in multiples of this
  int width_columns;  ///< and are computed in multiples of this
  void (*screen)(const ScreenTask&);
  void (*hits)(const HitsTask&);
  /// Runs `rounds` rounds of products that touch no memory: the unit's peak. Returns their floating-point operations;
  /// null without such a unit.
  double (*peak)(int64_t rounds);
};

/// Input of the proof of a tile's best prototypes.
struct CertifyTask {
  const float* best;    // (spans, P)
  const float* second;  // (spans, P)
  const float* third;   // (spans, P)
  int64_t spans;
  int tile_rows;       // P
  const float* norms;  // P, upper bounds of the rows' norms
  const float* radii;  // P
  const float* slopes;
  const float* errors;
  float slack;  // a point's share of the margin: slack * norm^2 + underflow
  float underflow;
  const uint32_t* order;  // of all columns: their prototypes
  uint32_t* labels;       // out, P: the prototype of the best column
  float* upper_best;      // out, P: its upper score
  float* lower_best;      // out, P: what its true score surely exceeds, the slack included
  float* runner_up;       // out, P: the second largest upper score
};

/// Rows (bit i: row i) that have candidates in a span: its best column, its best two, or perhaps more of its columns.
struct SpanCandidates {
  int64_t span;
  uint64_t best;
  uint64_t two;
  uint64_t more;
};

/// Bounds of the scaled distances of a tile's rows, from what its certificates left.
struct DistanceTask {
  int tile_rows;           // P
  const float* norms;      // P
  const float* lower;      // P: what the best prototype's true score surely exceeds
  const float* runner_up;  // P: what no other true score exceeds
  float inflation;         // 1 + 2^-20: outward rounding
  float underflow;         // of squares
  float* nearest;          // out, P: the distance to the best prototype is at most this
  float* others;           // out, P: the distance to any other at least this
};

/// The rows that keep their label for any result of the screen: rows with others - nearest > gap and nearest < reach,
/// or nearest < half; thresholds are by label.
struct KeepTask {
  const uint32_t* labels;  // readable to the end of a tile, as are the bounds
  const float* nearest;
  const float* others;
  const float* gap;
  const float* reach;
  const float* half;
  int64_t count;
};

/// float32 scores offset_k + x . z_k of one row and some columns in blocks of the float32 format.
struct RescoreTask {
  const float* x;
  const float* blocks;
  const float* offsets;
  int64_t d;
  int64_t columns;
  float* scores;  // out
};

/// Labels before and now; both readable to the end of a tile.
struct ChangedLabels {
  const uint32_t* before;
  const uint32_t* now;
  int64_t count;
};

/// Some rows of a tile on their way into another. Words of a row are `run` words apart, `lines` of them in each of
/// `blocks` blocks: the layouts, above.
struct GatherTask {
  const uint32_t* from;  // the tile
  uint64_t rows;         // which of its rows
  int tile_rows;         // P
  int run;               // kLanes: P; else 16
  int64_t lines;         // kLanes: words; else 16
  int64_t blocks;        // kLanes: 1; else steps
  uint32_t* to;          // the first of several tiles
  int64_t to_tile;       // elements from tile to tile
  int64_t at;            // rows that are there already
};

/// Rows of points on their way into a tile.
struct PackTask {
  int64_t rows;  // that exist; the others become zero
  int64_t d;
  const double* centre;
  double scale;
  const double* scales = nullptr;  // of each column, where they differ
};

/// Where the rows of a tile of kBfloat16 go: words of two values, laid out as in GatherTask.
struct PairTile {
  uint32_t* words;
  int tile_rows;         // P
  int run;               // kLanes: P; else 16
  int64_t lines;         // kLanes: words; else 16
  double* squares;       // of each row: |y|^2
  double* rest_squares;  // of each row: the squared norm of what rounding left out
};

/// One row y = (x - centre) * scale in bfloat16 parts, d values each; those below 2^-100 are 0. With a unit, in bytes
/// instead: y is about unit * (256 high + low).
struct RoundedRow {
  bool pair;  // else no low parts
  uint16_t* high;
  uint16_t* low;
  double square;       // out: |y|^2
  double rest_square;  // out: the squared distance of y from the stored parts
  double unit;         // 0: bfloat16
};

}  // namespace manymeans
