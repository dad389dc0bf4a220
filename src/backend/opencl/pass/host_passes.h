// Passes on a device that has no binary64, or another than the host's: it screens, and the host computes the canonical
// distances of the rows that are not proved, adds up what changed, and leaves the update to the engine.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/score_screen.h"
#include "core/threads.h"
#include "data/statistics.h"
#include "prototype/prototype.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace manymeans::opencl {

class HostPasses final : public device::PassKernels {
 public:
  /// For a session of these models, on so many of the host's threads.
  HostPasses(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k, int threads);

  void begin(const device::PassBatch& batch) override;
  int passes_between_questions(const device::PassBatch&) const override { return 1; }
  void pass(const device::PassBatch& batch, const device::Rows& rows, bool first) override;
  void end_pass(const device::PassBatch& batch) override;
  void update(const device::PassBatch&) override {}  // end_pass() has stopped the batch
  Address labels_in_order(int slot) override { return memory_.labels(slot); }
  void move_row(const device::ModelMemory& model, const RowMove& move) override;
  void renumber(int slot, Address table) override;

 private:
  struct Slice;
  struct Found;
  struct Row {
    int64_t number;
    const double* x;          // widened
    std::span<double> terms;  // memory for what it adds to a cluster's sums
  };
  void resolve(size_t m, Slice& slice);
  void look_at(size_t m, Slice& slice, int64_t first, int64_t last, Found& found) const;
  void add_row(Statistics& statistics, const Row& row, std::optional<uint32_t> from, uint32_t to) const;
  void send(const device::ModelMemory& model, const Statistics& statistics);
  Statistics fetch(const device::ModelMemory& model) const;

  const Input& input_;
  const Prototype& prototype_;
  const device::SessionMemory& memory_;
  const device::Queue& queue_;
  PassArrays arrays_;
  std::unique_ptr<ScoreScreen> screen_;  // null where every distance is computed
  ThreadPool pool_;
  std::vector<Statistics> statistics_;           // of the batch's models, as all else
  std::vector<std::vector<double>> prototypes_;  // widened
  std::vector<device::PassCounters> counters_;
  device::PassControl control_;
};

}  // namespace manymeans::opencl
