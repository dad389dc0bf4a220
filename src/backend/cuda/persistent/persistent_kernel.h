// A session's batches of passes in one kernel, where the problem is small enough for that.
#pragma once

#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/persistent/persistent_passes.h"
#include "backend/cuda/tensor/tensor_screen.h"

#include <cstdint>

namespace manymeans::cuda {

/// It keeps nothing on the device: it packs into the columns of the screen in the tensor cores, and proves as that
/// does.
class PersistentKernel {
 public:
  /// All arguments must outlive this; `solve_shifts`: see SolveTask.
  PersistentKernel(TensorScreen& screen, const int32_t* solve_shifts, int device)
      : screen_(screen), solve_shifts_(solve_shifts), device_(PersistentDevice::of(device)) {}

  /// Enqueues up to `max_passes` passes over all rows. Returns false if it did not: the problem is too large, or a part
  /// of the device is taken.
  bool enqueue(const PassWork& pass, const PointSlice& all, int max_passes, const Stream& stream);

 private:
  TensorScreen& screen_;
  const int32_t* solve_shifts_;
  PersistentDevice device_;
};

}  // namespace manymeans::cuda
