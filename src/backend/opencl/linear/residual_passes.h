// Passes over linear models: the device finds labels by every canonical residual, and sums of products. Updates are the
// engine's, since a solve takes exact numbers of any length.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/changed_sums.h"

#include <span>

namespace manymeans::opencl {

/// The program of linear.cl for these points.
const Program& linear_program(const OpenClShared& shared);

class ResidualPasses final : public device::PassKernels {
 public:
  /// `k`: of the session's models. Both references must outlive this.
  ResidualPasses(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k);

  void begin(const device::PassBatch& batch) override { arrays_.begin(batch, queue_); }
  bool updates() const override { return false; }
  int passes_between_questions(const device::PassBatch&) const override { return 1; }
  void pass(const device::PassBatch& batch, const device::Rows& rows, bool first) override;
  void end_pass(const device::PassBatch& batch) override;
  Address labels_in_order(int slot) override { return memory_.labels(slot); }
  void move_row(const device::ModelMemory& model, const RowMove& move) override { sums_.move_row(model, move); }
  void renumber(int slot, Address table) override;

 private:
  const OpenClShared& shared_;
  const device::SessionMemory& memory_;
  const device::Queue& queue_;
  PassArrays arrays_;
  ChangedSums sums_;
  Kernel pack_, label_, end_pass_, renumber_;
};

}  // namespace manymeans::opencl
