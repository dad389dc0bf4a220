// Sums of the rows whose labels a pass has changed, by the device: of their values or, for linear models, of products.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/pass_arrays.h"

namespace manymeans::opencl {

class ChangedSums {
 public:
  /// All three must outlive this.
  ChangedSums(const OpenClShared& shared, const device::SessionMemory& memory, const PassArrays& arrays)
      : shared_(shared), memory_(memory), queue_(memory.queue()), arrays_(arrays) {}

  /// Enqueues what takes rows from clusters to others, counts them, and makes the labels that the pass found theirs.
  void accumulate(const device::PassBatch& batch, const device::Rows& rows);
  /// Moves one row.
  void move_row(const device::ModelMemory& model, const device::PassKernels::RowMove& move);

 private:
  const Program& program(bool in_local) const;
  const Kernel& accumulate_kernel(bool in_local);

  const OpenClShared& shared_;
  const device::SessionMemory& memory_;
  const device::Queue& queue_;
  const PassArrays& arrays_;
  Kernel accumulate_[2];  // in global memory, in local memory; made when first wanted
};

}  // namespace manymeans::opencl
