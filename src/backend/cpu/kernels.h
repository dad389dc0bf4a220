// The table of functions that each instruction set fills. Everything above it is compiled once.
#pragma once

#include <cstdint>

namespace manymeans {

// Layouts, with P = tile_rows and R = block_prototypes of the table:
//   tile    (d, P) floats, value j of row i at [j * P + i]: rows are vector lanes, so that the running best
//           two scores of a row live in a lane and are never reduced across lanes;
//   block   (d, R) floats, value j of prototype r at [j * R + r]: broadcast one after the other;
//   offsets, slopes: one float per prototype, padded to whole blocks.
// The upper score of row i and prototype k is  u = offset_k + x_i . z_k + norm_i * slope_k  (packed_prototypes.h).

/// Running best two upper scores of each row of a tile, and the index of the best.
struct BestTwo {
  float* best;     // P
  float* second;   // P
  int32_t* index;  // P
};

struct ScreenBlocks {
  const float* tile;
  const float* norms;  // P, upper bounds of the rows' norms
  int64_t d;
  const float* blocks;   // `count` blocks
  const float* offsets;  // count * R
  const float* slopes;   // count * R
  int32_t first_index;   // of the first block's first prototype
  int64_t count;         // blocks
};

/// What decides whether a tile's best prototypes are proved.
struct Certificate {
  const float* norms;   // P
  const float* slopes;  // of all prototypes
  const float* errors;
  float slack;  // a point's share of the margin: slack * norm^2 + underflow
  float underflow;
};

struct TermRow {
  int64_t d;
  int limbs;
  double weight;
  const double* top;  // d: 2^(shift_j - (limbs - 1) * bits)
  double radix;       // 2^bits, bits <= 50
  int64_t* to;        // limbs x d: the terms are added
  int64_t* from;      // limbs x d: the terms are subtracted; may be null
};

/// Sums of clusters without weights in units of each column's lowest bit, one integer a column: a third of the work of
/// limbs. They hold only so many terms and are then flushed (cpu_statistics.cpp).
struct UnitSums {
  int64_t d;
  int64_t stride;       // of a cluster in `sums`: d rounded up to a multiple of 8
  const double* units;  // stride: 2^-lowest_j, zeros from d on
  bool narrow;          // in units every |term| is below 2^51; else below 2^56
  int64_t* sums;        // k x stride
  int64_t* counts;      // k: rows
  uint32_t* terms;      // k: rows added or taken since the last flush
  uint32_t most_terms;
};

/// Rows that change clusters.
struct MovedRows {
  const int64_t* rows;   // of the points
  const uint32_t* from;  // null: from nowhere
  const uint32_t* to;
  int64_t count;
};

/// Rows and the prototypes of their labels.
template <class T>
struct LabelledRows {
  const T* points;  // count x d
  int64_t count;
  int64_t d;
  const T* prototypes;  // k x d
  int64_t k;
  const uint32_t* labels;
};

/// Sums of RN(w' * d2) in two formats of three limbs at once: the second has twice the largest term of the first.
struct DistanceTerms {
  const double* d2;
  const double* weights;  // null: all 1
  int64_t count;
  double top;        // 2^(shift - 2 bits) of the first format
  double radix;      // 2^bits, bits <= 50
  uint64_t* limbs;   // 2 x 3, added to, mod 2^64; without meaning once a term was too large for the format
  double* farthest;  // the largest d2 of a row with w' > 0, if it is larger than what is there
};

struct CpuKernels {
  const char* name;
  const char* description;
  bool (*supported)();
  int tile_rows;         ///< P, at most 64
  int block_prototypes;  ///< R

  /// Updates the best two with all prototypes of the blocks.
  void (*screen)(const ScreenBlocks&, const BestTwo&);
  /// Bit i is set if row i's best prototype is NOT proved to be the nearest.
  uint64_t (*certify)(const Certificate&, const BestTwo&);
  /// hits[k] gets bit i if the upper score of row i and prototype k is above thresholds[i]; count * R words.
  void (*hits)(const ScreenBlocks&, const float* thresholds, uint64_t* hits);
  /// Canonical distances of one row to a row (core/distance.h), same bits.
  double (*distance_f32)(const float* x, const float* c, int64_t d);
  double (*distance_f64)(const double* x, const double* c, int64_t d);
  /// The same of many rows to the prototypes of their labels.
  void (*distances_f32)(const LabelledRows<float>&, double* d2);
  void (*distances_f64)(const LabelledRows<double>&, double* d2);
  void (*add_distances)(const DistanceTerms&);
  /// Order-free terms RN(weight * x_j) of one row.
  void (*add_terms_f32)(const float* x, const TermRow&);
  void (*add_terms_f64)(const double* x, const TermRow&);
  /// Moves rows of `points` from cluster to cluster, in order, until one is to be touched that holds most_terms terms;
  /// returns how many rows were moved.
  int64_t (*move_rows_f32)(const float* points, const MovedRows&, const UnitSums&);
  int64_t (*move_rows_f64)(const double* points, const MovedRows&, const UnitSums&);
  /// Adds the label terms (core/label_term.h) of `count` < 2^31 pairs of row and label to sum[0] (low half) and sum[1].
  void (*label_terms)(const int64_t* rows, const uint32_t* labels, int64_t count, uint64_t* sum);
  /// Writes one tile: centred, scaled, rounded to float; norms rounded up. Rows from `rows` on become zero.
  void (*pack_f32)(const float* x, int64_t rows, int64_t d, const double* centre, double scale, float* tile,
                   float* norms);
  void (*pack_f64)(const double* x, int64_t rows, int64_t d, const double* centre, double scale, float* tile,
                   float* norms);
};

}  // namespace manymeans
