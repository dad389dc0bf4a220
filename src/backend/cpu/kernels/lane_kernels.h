// Kernels of the kd-tree: rows, or candidate prototypes, as vector lanes of binary64.
#pragma once

#include <cstdint>

namespace manymeans {

/// Values that lane kernels may read, but never use, past the end of what they are given.
constexpr int64_t kLanePadding = 8;

/// Rows of a leaf: value j of row i at values[j * rows + i].
template <class T>
struct LaneRows {
  const T* values;
  int64_t rows;
  int64_t d;
};

/// Candidate prototypes: value j of candidate c at values[j * stride + c]. The ids ascend; the stride is a multiple of
/// kLanePadding.
struct LaneCandidates {
  const double* values;
  int64_t stride;
  const uint32_t* ids;
  int64_t count;
};

/// All points with |x_j - middle_j| <= half_j.
struct LaneBox {
  int64_t d;
  const double* middle;
  const double* half;
  double half_square;  ///< at least the sum of half_j^2
};

/// Slack that pruning adds to every comparison: docs/developer/screens.md, "kd-tree".
struct PruneBound {
  double relative;   ///< of every sum that is computed here
  double canonical;  ///< of a squared distance
  double underflow;
  double scale = 1;  ///< tests only: multiplies all of it, the reach of the box included
};

struct Pruned {
  int64_t count;    ///< candidates that remain, at least one
  int64_t nearest;  ///< position of the one nearest to the middle of the box; always remains
};

/// Where candidates go: `values` has room for d * stride and kLanePadding more, `ids` for all of them.
struct KeptCandidates {
  double* values;
  int64_t stride;
  uint32_t* ids;
};

/// The number format of the columns' sums, as in TermRow.
struct LaneTerms {
  int limbs;
  const double* top;
  double radix;
  int64_t* to;  ///< limbs x d
};

struct LaneKernels {
  /// Marks in `keep`, one bit a candidate, the candidates that may be nearest to a point of the box in canonical
  /// distance. `squares` has room for the candidates, padded.
  Pruned (*prune)(const LaneCandidates&, const LaneBox&, const PruneBound&, double* squares, uint8_t* keep);
  /// Copies the candidates whose bits are set in `keep`.
  void (*keep)(const LaneCandidates&, int64_t d, const uint8_t* keep, const KeptCandidates& to);
  /// labels[i] = the id with the least canonical distance to row i, the lowest on equality; labels has room for
  /// kLanePadding more.
  void (*nearest_f32)(const LaneRows<float>&, const LaneCandidates&, uint32_t* labels);
  void (*nearest_f64)(const LaneRows<double>&, const LaneCandidates&, uint32_t* labels);
  /// Canonical distances of all rows to one row of d values; squares has room for kLanePadding more.
  void (*distances_f32)(const LaneRows<float>&, const double* prototype, double* squares);
  void (*distances_f64)(const LaneRows<double>&, const double* prototype, double* squares);
  /// Adds the order-free terms RN(weight_i * x_ij) of all rows; weights may be null: all one.
  void (*add_rows_f32)(const LaneRows<float>&, const double* weights, const LaneTerms&);
  void (*add_rows_f64)(const LaneRows<double>&, const double* weights, const LaneTerms&);
};

}  // namespace manymeans
