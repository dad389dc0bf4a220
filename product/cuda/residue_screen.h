// The screen of products by residues: its memory, and its kernels in their order.
#pragma once

#include "product/cuda/memory_cutter.h"
#include "product/cuda/product_plan.h"
#include "product/cuda/residue_product.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace manymeans::cuda {

class ResidueScreen {
 public:
  /// The memory of a block as large as the plan's, cut off; to be called once for the size and once for the memory.
  void lay_out(const ProductPlan& plan, MemoryCutter& from);
  /// Where residue_measures() numbers are that begin every block as zeros.
  void measure_in(unsigned long long* measures);

  /// Screens and certifies. The lines are packed and measured; `new_columns`: lines of b differ from the last call's.
  void screen(const ProductBlock& block, bool new_columns, int multiprocessors, cudaStream_t stream);

 private:
  ResidueBlock task_;
  int64_t row_measures_ = 0, column_measures_ = 0;
};

}  // namespace manymeans::cuda
