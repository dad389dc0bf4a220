// The kernels of a session's passes on a CUDA device: its screen, what follows every screen, and solves.
#pragma once

#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/pass/cuda_shared.h"
#include "backend/cuda/pass/make_screen.h"
#include "backend/cuda/pass/session_arrays.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/device_kernels.h"

#include <memory>

namespace manymeans::cuda {

class CudaPassKernels final : public device::PassKernels {
 public:
  /// For a session whose models have `k` prototypes. `shared` and `memory`, on the current device, must outlive this.
  CudaPassKernels(const CudaShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k);

  void use_device() const override { cuda::use_device(shared_.device); }
  void begin(const device::PassBatch& batch) override;
  bool run_batch(const device::PassBatch& batch) override;
  int passes_between_questions(const device::PassBatch& batch) const override;
  void pass(const device::PassBatch& batch, const device::Rows& rows, bool first) override;
  void end_pass(const device::PassBatch& batch) override;
  void update(const device::PassBatch& batch) override;
  bool joins() const override { return shared_.options.device_memory == 0; }  // which does not count what that takes
  void begin_joined(const device::PassBatch& batch) override;
  void begin_update(const device::PassBatch& batch) override { begin_joined(batch); }
  void join(const Joining& joining) override;
  bool learns() const override { return screen_->learns(); }
  void learn(size_t pass, std::span<const PassCounters> counted) override { screen_->learn(pass, counted); }
  void end(std::span<const PassCounters> last) override { screen_->end_batch(last); }
  device::Address labels_in_order(int slot) override;
  void move_row(const device::ModelMemory& model, const RowMove& move) override;
  void renumber(int slot, device::Address table) override;
  void forget(int) override { screen_->forget_passes(); }

 private:
  CudaPassKernels(const CudaShared& shared, const device::SessionMemory& memory, const SessionShape& shape);
  PassRanges ranges_of(const device::PassBatch& batch) const;
  LabelRows current_rows() const;
  PassWork work();

  const CudaShared& shared_;
  const device::SessionMemory& memory_;
  const Stream& stream_;
  int64_t next_stride_;
  SessionArrays arrays_;
  PinnedBuffer<PassRange> host_ranges_;
  PassRanges ranges_;  // of the batch at hand
  PinnedBuffer<PassRange> host_joined_;
  DeviceBuffer<PassRange> joined_;
  PassRanges joined_ranges_;  // in a team: of the batch with the statistics of all rows
  std::unique_ptr<Screen> screen_;
  std::unique_ptr<PersistentKernel> persistent_;  // null where batches are never one kernel
};

}  // namespace manymeans::cuda
