#include "backend/cuda/persistent/persistent_kernel.h"

namespace manymeans::cuda {

bool PersistentKernel::enqueue(const PassWork& pass, const PointSlice& all, int max_passes, const Stream& stream) {
  PersistentTask task;
  task.sums = screen_.accumulate_task(pass, all.points);
  task.shape = persistent_shape(
      {all.points.n, all.packed.padded_columns, pass.ranges.max_clusters, pass.ranges.count, task.sums.terms.limbs},
      device_);
  if (task.shape.blocks == 0) return false;
  task.columns = screen_.pack_task(pass);
  task.points = all.packed;
  task.solve_shifts = solve_shifts_;
  task.passes = max_passes;
  return persistent_passes(task, stream);
}

}  // namespace manymeans::cuda
