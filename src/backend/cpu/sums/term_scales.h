// How the terms of rows become integers; they are w' x of every column if prototypes are centroids. All code that adds
// up statistics needs this of an upload.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "core/aligned_buffer.h"
#include "data/input.h"

#include <cstdint>
#include <vector>

namespace manymeans {

/// The powers of two that turn terms into limbs: what add_terms needs.
struct TermScales {
  bool fast = false;        ///< the kernels may be used: every limb is below 2^51 and every power is a normal number
  std::vector<double> top;  ///< per term
  double radix = 0;

  explicit TermScales(const Input& input);
};

/// Sums in units of each column's lowest bit (UnitSums of kernels.h) if every term fits one integer. Sums of products
/// use as many integers as they need (ProductUnits of kernels.h).
struct UnitScales {
  bool fits = false;  ///< terms are columns, no weights but of counted rows, no column too wide; or products
  bool narrow = false;
  uint32_t max_terms = 0;
  int64_t stride = 0;
  AlignedBuffer<double> units;
  std::vector<int> shifts;       ///< per column, or place of a product: S is the sum in units times 2^shift
  ProductUnits products;         ///< words = 0: none
  std::vector<double> rounders;  ///< of products, where rows may come in segments
  int bits = 0;                  ///< of a product's word

  explicit UnitScales(const Input& input);

 private:
  void plan_products(const Input& input);
};

}  // namespace manymeans
