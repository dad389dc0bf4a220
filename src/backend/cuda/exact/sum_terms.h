// How the terms of an input's sums become limbs, and sums become means, in device memory.
#pragma once

#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/runtime/device_memory.h"
#include "data/input.h"

#include <cstdint>

namespace manymeans::cuda {

class SumTerms {
 public:
  SumTerms() = default;
  /// Waits until all is there.
  SumTerms(const Input& input, const Stream& stream);

  const ColumnTerms& terms() const { return terms_; }
  const int32_t* solve_shifts() const { return solve_shifts_.data(); }  ///< see SolveTask

 private:
  ColumnTerms terms_;
  DeviceBuffer<double> tops_;
  DeviceBuffer<int32_t> exponents_, solve_shifts_;
};

}  // namespace manymeans::cuda
