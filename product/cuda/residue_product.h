// Kernels of products by residues. Values become integers of some 40 or 70 bits, and their residues are bytes. The
// matrix units multiply bytes. The sums are put together again and certified.
#pragma once

#include "product/cuda/packed_product.h"
#include "product/cuda/residue_basis.h"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

namespace manymeans::cuda {

/// A factor's residues, with a plane for each modulus. A plane has tiles of kResidueLines x kResidueDepth bytes. Tiles
/// of the same lines are adjacent. A line's chunks of 16 bytes are permuted by the line modulo 8, as the matrix units
/// read shared memory.
struct ResidueLines {
  int8_t* values = nullptr;
  int64_t plane_bytes = 0;
  int32_t tiles = 0;         // of lines
  int32_t depth_blocks = 0;  // tiles of a line
  // Sums for each line, in fixed point. `squares`: of its values' squares relative to 2^exponent, in units of 2^-24.
  // `lost`: of squares of its integers' roundings, in units of 2^-20. Then both roots, in units of the integers.
  unsigned long long* squares = nullptr;
  unsigned long long* lost = nullptr;
  float* norms = nullptr;
  float* errors = nullptr;
};

struct ResidueBlock {
  ProductBlock block;
  ResidueBasis basis;
  ResidueLines a, b;
  uint8_t* sums = nullptr;  // a plane for each modulus, of rows of `pitch` bytes
  int64_t plane_bytes = 0;
  int64_t pitch = 0;
};

struct ResidueFactor {
  PackedLines lines;
  ResidueLines to;
};

/// Integers and residues of one or two factors, whose exponents are known and whose squares and losses are 0.
void pack_residues(std::span<const ResidueFactor> factors, const ResidueBasis& basis, bool wide, cudaStream_t stream);
/// Sums of products modulo each modulus. Only on devices of the Hopper kind.
void multiply_residues(const ResidueBlock& block, int multiprocessors, cudaStream_t stream);
/// Puts the sums together, rounds and certifies.
void certify_residues(const ResidueBlock& block, cudaStream_t stream);

}  // namespace manymeans::cuda
