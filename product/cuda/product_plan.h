// How much of a product is on the device at a time.
#pragma once

#include "product/cuda/packed_factor.h"
#include "product/cuda/residue_basis.h"

#include <cstdint>
#include <string_view>

namespace manymeans::cuda {

struct ProductSize {
  int64_t rows, columns, depth;
  bool wide;           // float64
  bool keeps_entries;  // the product goes to the host's memory, so that the device has room of its own for it
  int multiprocessors;
};

/// kBest: the fastest screen that fits (docs/developer/screens.md, "Products by residues").
enum class ScreenWish { kBest, kSums, kResidues };

/// Blocks of the product: the largest that fit. Both factors' lines are there as a whole.
struct ProductPlan {
  int64_t rows, columns;
  int splits;         // of the depth
  uint32_t unproved;  // entries that the list holds
  int64_t bytes;

  LineShape shape;
  ResidueBasis basis = {};  // of products by residues; else without moduli
  bool by_residues() const { return basis.count > 0; }
  int64_t parts() const { return int64_t{splits} * (shape.wide ? 3 : 1); }
  bool keeps_sums() const { return !by_residues() && (shape.wide || splits > 1); }
  int64_t cells() const;
};

/// The wish that a device can fulfil. `asked`: environment::cuda_product(). Devices without `byte_units` make sums.
ScreenWish possible_wish(ScreenWish wish, std::string_view asked, bool byte_units);

/// Throws Error(kUnavailable) where `room` bytes of the device's memory are too few; `more` of them are for pieces of
/// factors on their way.
ProductPlan plan_product(const ProductSize& size, ScreenWish wish, int64_t room, int64_t more);

/// Max roundings of a product on its way into a sum: one for each of kSumsDepth values, and one for every sum that is
/// added to others.
int64_t roundings_of(const ProductPlan& plan);

}  // namespace manymeans::cuda
