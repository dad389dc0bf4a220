// Replaces the product on a device where CUDA is not built.
#include <manymeans/error.h>

#include "product/multiplier.h"

namespace manymeans {

ProductCounts multiply_on_cuda(const ProductTask&, const ProductWork&) {
  throw Error(ErrorCode::kUnavailable, "backend cuda",
              "this build has none (CMake option MANYMEANS_CUDA); use --backend cpu");
}

}  // namespace manymeans
