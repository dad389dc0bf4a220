// The float32 screen of a session: labels of a slice's rows, and marks of rows that it cannot prove.
#pragma once

#include "backend/opencl/pass/pass_arrays.h"

namespace manymeans::opencl {

class ScoreScreen {
 public:
  ScoreScreen(const OpenClShared& shared, const device::SessionMemory& memory, PassArrays& arrays);

  /// Enqueues the prototypes' columns, once for a pass.
  void pack_prototypes(const device::PassBatch& batch);
  /// Enqueues a look at these rows.
  void look(const device::PassBatch& batch, const device::Rows& rows);

 private:
  const OpenClShared& shared_;
  const device::Queue& queue_;
  PassArrays& arrays_;
  Kernel pack_, screen_;
};

}  // namespace manymeans::opencl
