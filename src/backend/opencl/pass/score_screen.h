// The float32 screen of a session: labels of a slice's rows, and marks of those that it cannot prove.
#pragma once

#include "backend/opencl/pass/pass_arrays.h"

#include <cstdint>
#include <vector>

namespace manymeans::opencl {

class ScoreScreen {
 public:
  ScoreScreen(const OpenClShared& shared, const device::SessionMemory& memory, PassArrays& arrays);

  /// Enqueues the prototypes' columns, once for a pass. Where the host makes them, it waits for the prototypes.
  void pack_prototypes(const device::PassBatch& batch);
  /// Enqueues a look at these rows.
  void look(const device::PassBatch& batch, const device::Rows& rows);

 private:
  void pack_on_host(const device::PassBatch& batch);

  const OpenClShared& shared_;
  const device::Queue& queue_;
  PassArrays& arrays_;
  Kernel pack_, screen_;
  std::vector<std::byte> prototypes_;  // these three where the host packs
  std::vector<float> columns_;
  std::vector<Int32> states_;
};

}  // namespace manymeans::opencl
