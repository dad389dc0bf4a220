// The table of functions that each instruction set fills. Everything above it is compiled once.
#pragma once

#include "backend/cpu/kernels/coded_kernels.h"
#include "backend/cpu/kernels/lane_kernels.h"
#include "backend/cpu/kernels/panel_kernels.h"
#include "backend/cpu/kernels/product_kernels.h"
#include "backend/cpu/kernels/screen_kernels.h"
#include "backend/cpu/kernels/sparse_kernels.h"
#include "prototype/labelled_rows.h"

#include <cstdint>

namespace manymeans {

struct TermRow {
  int64_t d;
  int limbs;
  double weight;
  const double* top;  // d: 2^(shift_j - (limbs - 1) * bits)
  double radix;       // 2^bits, bits <= 50
  int64_t* to;        // limbs x d: the terms are added
  int64_t* from;      // limbs x d: the terms are subtracted; may be null
};

/// Rows whose products are made together, so that none waits for what was just stored.
constexpr int64_t kProductRows = 8;
/// Values that kernels of products may write past the end.
constexpr int64_t kProductPadding = 8;

/// Sums of clusters without weights in units of each column's lowest bit, one integer a column: a third of the work of
/// limbs. They hold a limited number of terms and are then flushed (cpu_accumulator.cpp).
struct UnitSums {
  int64_t d;
  int64_t stride;       // of a cluster in `sums`: d rounded up to a multiple of 8
  const double* units;  // stride: 2^-lowest_j, zeros from d on
  bool narrow;          // in units every |term| is below 2^51; else below 2^56
  int64_t* sums;        // k x stride
  int64_t* counts;      // k: rows
  uint32_t* terms;      // k: rows added or taken since the last flush
  uint32_t max_terms;
};

/// Terms of linear models (contract, "Linear models") in units of each one's lowest bit, as `words` integers. A row
/// adds words x 2 x products integers to the sums or, without rests, words x products. Their order is place by place of
/// a cluster's stride, the lowest word first.
struct ProductUnits {
  int words = 0;
  bool rests = false;                // what products were rounded by counts, too; else it is zero
  int64_t products = 0;              // pairs of values, rounded up to a multiple of 8
  const double* top = nullptr;       // of each term, zeros in padding: 2^-(lowest + (words - 1) * bits)
  double radix = 0;                  // 2^bits, bits <= 50
  const double* weights = nullptr;   // w' of the rows; null: all one
  double* scratch = nullptr;         // product_scratch(), zeros at first
  const double* rounders = nullptr;  // words x products, 1.5 * 2^52 times the unit of each word; null: no segments
};

/// Values that ProductUnits::scratch has room for, of rows of d values.
constexpr int64_t product_scratch(int64_t products, int64_t d) {
  return kProductRows * (2 * products + d + 1) + 4 * kProductPadding;
}

/// Most rows of a segment, below.
constexpr int64_t kSegmentRows = 256;

/// Rows of one cluster whose products are added together, without rests: register by register of all rows.
struct ProductSegment {
  const int64_t* rows;
  int64_t count;  // at most kSegmentRows
  int64_t d;
  bool leaves;      // their products are taken away
  double* columns;  // scratch: (d + 1) x kSegmentRows, 64-byte aligned
  int64_t* sums;    // of the cluster
};

/// Rows that change clusters.
struct MovedRows {
  const int64_t* rows;   // of the points
  const uint32_t* from;  // null: from nowhere
  const uint32_t* to;
  int64_t count;
};

/// For each row the score above which a prototype may be nearer than its least distance so far:
/// docs/developer/screens.md, "Seeding". It is the float of t - 2^-20 |t| for t = (norm^2 (1 - 2^-18) - least scale^2
/// (1 + 2^-20)) / 2 - underflow.
struct SeedThresholds {
  const float* norms;
  const double* least;
  int64_t count;
  double scale;  // of the points' frame
  double underflow;
  float* thresholds;  // out
};

/// Least distances of some rows that a new centre may lower, and sums of the integer terms T that this changes.
struct SeedFall {
  const double* d2;  // to the centre
  double* least;
  const double* weights;  // null: all 1
  bool counted;           // a weight says how often the row's term counts
  int64_t count;          // at most 64
  bool keep;              // least becomes what it falls to
  double top;             // 2^(shift - 2 bits) of a format of three limbs
  double radix;           // 2^bits, bits <= 50
  int64_t* limbs;         // 3: T of what is added less T of what falls away
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
  const ScreenKernels* screens;  ///< one per format, kFloat32 first
  int screen_count;

  /// Bit i is set if row i's best column is NOT proved to be the nearest.
  uint64_t (*certify)(const CertifyTask&);
  /// After certify: the spans in which `rows` have upper scores that reach lower_best; returns how many there are, at
  /// most all spans.
  int64_t (*candidates)(const CertifyTask&, uint64_t rows, SpanCandidates* found);
  /// Bounds of distances, after certify.
  void (*bound_distances)(const DistanceTask&);
  /// Writes the rows (0 .. count - 1) that may not keep their label; returns how many there are.
  int64_t (*rows_to_screen)(const KeepTask&, uint32_t* rows);
  /// Writes the rows whose labels differ, ascending; returns how many there are.
  int64_t (*changed_labels)(const ChangedLabels&, uint32_t* rows);
  void (*gather)(const GatherTask&);
  void (*rescore)(const RescoreTask&);
  /// Canonical distances of one row to a row (core/distance.h), same bits.
  double (*distance_f32)(const float* x, const float* c, int64_t d);
  double (*distance_f64)(const double* x, const double* c, int64_t d);
  /// Distances of many rows to the prototypes of their labels. An upload's table has the distances for the input's kind
  /// of prototype here, and in distance_*.
  void (*distances_f32)(const LabelledRows<float>&, double* d2);
  void (*distances_f64)(const LabelledRows<double>&, double* d2);
  void (*add_distances)(const DistanceTerms&);
  void (*seed_thresholds)(const SeedThresholds&);
  /// Bit i is set if d2[i] < least[i].
  uint64_t (*lower_least)(const SeedFall&);
  /// Order-free terms RN(weight * x_j) of one row.
  void (*add_terms_f32)(const float* x, const TermRow&);
  void (*add_terms_f64)(const double* x, const TermRow&);
  /// Moves rows of `points` from cluster to cluster, in order, and returns how many. It stops before a row would touch
  /// a cluster that holds max_terms terms.
  int64_t (*move_rows_f32)(const float* points, const MovedRows&, const UnitSums&);
  int64_t (*move_rows_f64)(const double* points, const MovedRows&, const UnitSums&);
  /// Of linear models: the same.
  int64_t (*move_products_f32)(const float* points, const MovedRows&, const UnitSums&, const ProductUnits&);
  int64_t (*move_products_f64)(const double* points, const MovedRows&, const UnitSums&, const ProductUnits&);
  void (*add_segment)(const float* points, const ProductSegment&, const ProductUnits&);
  /// Canonical squared residuals (contract, "Linear models"), as distance_* and distances_*.
  double (*residual_f32)(const float* row, const float* model, int64_t d);
  double (*residual_f64)(const double* row, const double* model, int64_t d);
  void (*residuals_f32)(const LabelledRows<float>&, double* r2);
  void (*residuals_f64)(const LabelledRows<double>&, double* r2);
  /// Residuals to every model, r2[k * count + i]; there are no labels.
  void (*all_residuals_f32)(const LabelledRows<float>&, double* r2);
  void (*all_residuals_f64)(const LabelledRows<double>&, double* r2);
  /// Writes one float32 tile: centred, scaled, rounded; norms rounded up.
  void (*pack_f32)(const float* x, const PackTask&, float* tile, float* norms);
  void (*pack_f64)(const double* x, const PackTask&, float* tile, float* norms);
  /// Writes as many rows of a bfloat16 tile as vectors hold together, and returns how many; the others are for round_*.
  int64_t (*pack_pairs_f32)(const float* x, const PackTask&, const PairTile&);
  int64_t (*pack_pairs_f64)(const double* x, const PackTask&, const PairTile&);
  /// One row in bfloat16.
  void (*round_f32)(const float* x, const PackTask&, RoundedRow&);
  void (*round_f64)(const double* x, const PackTask&, RoundedRow&);
  LaneKernels lanes;    ///< of the kd-tree
  PanelKernels panels;  ///< of predict and transform
  /// Float32 scores of linear models: minus the magnitude of a residual, offset_k + x_i . z_k.
  ScreenKernels residuals;
  SparseKernels sparse;    ///< of sparse points
  ProductKernels product;  ///< of matrices
  /// For tiles of several heights; none where no unit multiplies bytes.
  const CodedKernels* coded = nullptr;
  int coded_count = 0;
};

}  // namespace manymeans
