// Kernels of matrix products (contract, "Products"; docs/developer/screens.md, "Products").
//
// Lines of the factors are in panels of binary64. Value l of the panel's line w is number l * width + w. `width` is
// `rows` for lines of a, `columns` for lines of b. Panels and sums are aligned to 64 bytes. A tile of sums is rows x
// columns.
#pragma once

#include <cstdint>

namespace manymeans {

constexpr int kMaxProductTile = 192;  // values of a tile

/// Measures of a panel's lines, one number a line; they begin with zeros, `lowest` with infinities.
struct LineMeasures {
  double* largest;  // the largest magnitude
  double* squares;  // their sum, rounded
  double* lowest;   // the least weight of a lowest bit that is set
  double* special;  // NaN where a value is not finite, else 0
};

/// How a value x of a line becomes four slices, with y = x * factors * more_factors. They are the multiple of 2^-beta
/// nearest to y, the multiple of 2^-2beta nearest to the remainder, the rest, and all but the first.
struct ProductSlices {
  const double* factors;
  const double* more_factors;
  double first, second;  // 1.5 * 2^(52 - beta), 1.5 * 2^(52 - 2 beta)
  double* out;           // the first slice of the panel
  int64_t stride;        // of the slices
};

struct ProductScreen {
  const double* sums;  // a tile; of float64: high, middle and low sums, kMaxProductTile apart
  const double* row_bounds;
  const double* column_bounds;  // float32: |error| <= row bound * column bound. float64: what scales the sums back
  const double* row_widths;
  const double* column_widths;  // bits from the largest to the lowest one
  double exact_width;           // up to which width of row and column together the sums are exact
  double error;                 // float64: of the scaled sums
};

/// Memory that is needed soon. With each value of the depth a kernel fetches one cache line of it into the second
/// level's cache, `step` bytes after the last one.
struct ProductAhead {
  const double* first;
  int64_t step;
};

struct ProductKernels {
  int rows;
  int columns;  // at most 32
  /// sums += a b^T, the sum of `depth` products first; meanwhile it fetches what is needed next.
  void (*add)(const double* a, const double* b, int64_t depth, double* sums, const ProductAhead&);
  void (*measure_rows)(const double* panel, int64_t depth, const LineMeasures&);
  void (*measure_columns)(const double* panel, int64_t depth, const LineMeasures&);
  void (*slice_rows)(const double* panel, int64_t depth, const ProductSlices&);
  void (*slice_columns)(const double* panel, int64_t depth, const ProductSlices&);
  /// Writes the tile, and for each row the columns whose bits are not proved, as bits.
  void (*certify_f32)(const ProductScreen&, float* out, uint32_t* failed);
  void (*certify_f64)(const ProductScreen&, double* out, uint32_t* failed);
};

}  // namespace manymeans
