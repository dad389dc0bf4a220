// The screen of products by residues: its memory, and its kernels in their order.
#pragma once

#include "backend/cuda/product/packed_factor.h"
#include "backend/cuda/product/residue_product.h"
#include "backend/cuda/runtime/device_memory.h"

#include <cstdint>

namespace manymeans::cuda {

/// Bytes of the device's memory for a block of so many rows and columns.
int64_t residue_bytes(const ResidueBasis& basis, const LineShape& shape, int64_t rows, int64_t columns);

class ResidueScreen {
 public:
  ResidueScreen(const ResidueBasis& basis, const LineShape& shape, int64_t most_rows, int64_t most_columns);

  /// Screens and certifies. The lines are packed and measured; `new_columns`: those of b are not the last call's.
  void screen(const ProductBlock& block, bool new_columns, int multiprocessors, cudaStream_t stream);

 private:
  class Side {
   public:
    Side(const ResidueBasis& basis, const LineShape& shape, int64_t most_tiles, int tiles_together);
    ResidueFactor begin(const PackedLines& lines, cudaStream_t stream);
    const ResidueLines& lines() const { return lines_; }

   private:
    int tiles_together_;
    DeviceBuffer<int8_t> values_;
    DeviceBuffer<unsigned long long> measures_;
    DeviceBuffer<float> bounds_;
    ResidueLines lines_;
  };

  ResidueBasis basis_;
  Side a_, b_;
  DeviceBuffer<uint8_t> sums_;
};

}  // namespace manymeans::cuda
