// The kernels of a session's passes with linear models. Updates are made here unless the numbers of a solve take too
// many words, or too much of a multiprocessor's memory: then they are the engine's.
#pragma once

#include "backend/cuda/linear/linear_arrays.h"
#include "backend/cuda/linear/linear_kernels.h"
#include "backend/cuda/linear/linear_shared.h"
#include "backend/device/device_kernels.h"

#include <cstdint>
#include <span>

namespace manymeans::cuda {

class LinearPassKernels final : public device::PassKernels {
 public:
  /// For a session whose models have `k` prototypes. `shared` and `memory`, on the current device, must outlive this.
  LinearPassKernels(const LinearShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k);

  void use_device() const override { cuda::use_device(shared_.device); }
  void begin(const device::PassBatch& batch) override;
  bool updates() const override { return shared_.plan.solve != SolveWords::kNone; }
  int passes_between_questions(const device::PassBatch& batch) const override;
  void pass(const device::PassBatch& batch, const device::Rows& rows, bool first) override;
  void end_pass(const device::PassBatch& batch) override;
  void update(const device::PassBatch& batch) override;
  device::Address labels_in_order(int slot) override { return memory_.labels(slot); }
  void move_row(const device::ModelMemory& model, const RowMove& move) override;
  void renumber(int slot, device::Address table) override;

 private:
  LabelRows current_rows() const;
  ProductTask task_of(const device::Rows& rows) const;

  const LinearShared& shared_;
  const device::SessionMemory& memory_;
  const Stream& stream_;
  LinearArrays arrays_;
  PinnedBuffer<PassRange> host_ranges_;
  PassRanges ranges_;  // of the batch at hand
};

}  // namespace manymeans::cuda
