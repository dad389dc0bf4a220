// Passes that run entirely on the device: the screen, canonical distances, sums, and updates.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/changed_sums.h"
#include "backend/opencl/pass/score_screen.h"
#include "backend/opencl/pass/tree_screen.h"

#include <memory>
#include <span>

namespace manymeans::opencl {

class DevicePasses final : public device::PassKernels {
 public:
  /// `k`: of the session's models. Both references must outlive this.
  DevicePasses(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k);

  void begin(const device::PassBatch& batch) override { arrays_.begin(batch, queue_); }
  int passes_between_questions(const device::PassBatch& batch) const override;
  void pass(const device::PassBatch& batch, const device::Rows& rows, bool first) override;
  void end_pass(const device::PassBatch& batch) override;
  void update(const device::PassBatch& batch) override;
  Address labels_in_order(int slot) override { return memory_.labels(slot); }
  void move_row(const device::ModelMemory& model, const RowMove& move) override { sums_.move_row(model, move); }
  void renumber(int slot, Address table) override;

 private:
  void resolve(const device::PassBatch& batch, const device::Rows& rows);

  const OpenClShared& shared_;
  const device::SessionMemory& memory_;
  const device::Queue& queue_;
  PassArrays arrays_;
  ChangedSums sums_;
  std::unique_ptr<ScoreScreen> screen_;  // these two are null where every distance is computed
  std::unique_ptr<TreeScreen> tree_;
  Kernel resolve_, resolve_all_, end_pass_, update_, judge_update_, renumber_;
};

}  // namespace manymeans::opencl
