// Products by residues: the moduli, and how a sum is put together again (docs/developer/screens.md, "Products by
// residues"; Ozaki, Uchino and Imamura 2025, arXiv:2504.08009).
#pragma once

#include <algorithm>
#include <cstdint>

namespace manymeans::cuda {

constexpr int kMaxModuli = 20;
constexpr int kMaxFloatModuli = 16;   // whose product has less than 128 bits
constexpr int kFewModuli = 12;        // whose product has less than 96
constexpr int kMinDoubleModuli = 18;  // whose product has more than 128
constexpr int kMaxLimbs = 5;          // of 32 bits

// Of a value: what the digits of residue_pack.cu hold.
constexpr int kMaxFloatBits = 45, kMaxDoubleBits = 72;

/// Sums are known modulo `count` numbers of at most 8 bits, pairwise coprime; M is their product.
struct ResidueBasis {
  int32_t count = 0;
  int32_t limbs = 0;  // of M
  int32_t bits = 0;   // values become integers of at most 2^bits, so that sums stay within M / 4
  int32_t moduli[kMaxModuli] = {};
  uint32_t weights[kMaxModuli][kMaxLimbs] = {};  // 1 for one modulus, 0 for the others, below M; lowest limb first
  uint32_t product[kMaxLimbs] = {};              // M
  float inverse = 0;                             // 2^(32 (limbs - 1) - 16) / M, rounded
};

constexpr int kResidueLines = 128;    // of a tile of residues
constexpr int kResidueDepth = 128;    // bytes of a line in it
constexpr int kResidueColumns = 256;  // of a tile of the product; its rows are kResidueLines
constexpr int kTileBytes = kResidueLines * kResidueDepth;

constexpr int64_t residue_row_tiles(int64_t rows) {
  return (rows + kResidueLines - 1) / kResidueLines;
}
/// Two for each tile of the product.
constexpr int64_t residue_column_tiles(int64_t columns) {
  return (columns + kResidueColumns - 1) / kResidueColumns * (kResidueColumns / kResidueLines);
}
constexpr int64_t residue_depth_blocks(int64_t depth) {
  return std::max<int64_t>(1, (depth + kResidueDepth - 1) / kResidueDepth);
}
/// Numbers that measure what becomes of the lines' values: two of each.
constexpr int64_t residue_measures(int64_t rows, int64_t columns) {
  return (residue_row_tiles(rows) + residue_column_tiles(columns)) * kResidueLines * 2;
}

/// For lines of `depth` values: as many moduli as leave few entries unproved.
ResidueBasis residue_basis(bool wide, int64_t depth);

}  // namespace manymeans::cuda
