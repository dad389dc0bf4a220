// Shapes of matrix products that between them launch every kernel of product/cuda/.
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::test {

struct ProductCase {
  std::string name;
  DataType type;
  int64_t rows, depth, columns;
  std::string screen = {};  ///< MANYMEANS_CUDA_PRODUCT; empty: by shape
  bool on_device = false;   ///< the factors lie there already
};

std::vector<ProductCase> product_cases();

/// Whether the cuda backend has the bits of the cpu backend.
bool product_agrees(const ProductCase& one, int repeats);

}  // namespace manymeans::test
