#include "backend/opencl/pass/changed_sums.h"

#include "backend/opencl/kernels/kernel_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {

const Program& ChangedSums::program(bool in_local) const {
  const Input& input = shared_.input;
  const bool rests = input.weighted || input.points.type == DataType::kFloat64;
  return shared_.exact_program(
      kAccumulateSource,
      fmt::format("-DLIMBS={} -DLOCAL_SUMS={} -DPRODUCTS={} -DRESTS={} -DROTATED={}", input.limbs, in_local ? 1 : 0,
                  shared_.plan.linear ? 1 : 0, rests ? 1 : 0, shared_.used.launch.low_contention ? 1 : 0));
}

const Kernel& ChangedSums::accumulate_kernel(bool in_local) {
  Kernel& kernel = accumulate_[in_local ? 1 : 0];
  if (!kernel) kernel = Kernel(program(in_local), "accumulate");
  return kernel;
}

// In local memory where a group adds up many more values than it has sums, which it adds to the others' in the end.
void ChangedSums::accumulate(const device::PassBatch& batch, const device::Rows& rows) {
  constexpr int64_t kValuesForASum = 5;
  const Shape shape = arrays_.shape(batch);
  const int64_t terms = memory_.terms();
  const int64_t sums = batch.max_clusters * (shape.limbs * terms + 2);
  const int64_t words = (rows.count * shape.label_width + 7) / 8;
  const auto models = static_cast<int64_t>(batch.models.size());
  Grid grid = shared_.grid(words, models);
  // As many groups as run at the same time: each adds what it has summed up to the others' sums.
  constexpr int64_t kGroupsAUnit = 32;
  const int64_t together = kGroupsAUnit * shared_.used.facts.compute_units / models;
  if (!shared_.used.launch.contiguous) {
    grid.items = std::min(grid.items, grid.group * static_cast<size_t>(std::max<int64_t>(1, together)));
  } else {
    // A work-item's rows stay in a processor's cache for the next model.
    constexpr int64_t kCached = int64_t{128} << 10;
    const int64_t bytes = rows.count * shape.d * static_cast<int64_t>(size_of(shared_.input.points.type));
    grid.items = std::max<size_t>(grid.items, static_cast<size_t>(std::min(bytes / kCached, words)));
  }
  const auto groups = static_cast<int64_t>(grid.items / grid.group);
  constexpr int64_t kLocalBytesOfAnItem = 64;  // lists and counters of accumulate.cl
  const int64_t local_bytes = 8 * sums + kLocalBytesOfAnItem * static_cast<int64_t>(grid.group);
  const bool in_local = shared_.used.launch.low_contention && local_bytes <= shared_.used.facts.local_memory / 2 &&
                        rows.count * terms / groups >= kValuesForASum * sums;
  const LocalBytes scratch{static_cast<size_t>(in_local ? 8 * sums : 8)};
  const device::ModelMemory& model = batch.models[0];
  accumulate_kernel(in_local)(queue_, grid, shape, shared_.block_of(rows), arrays_.ranges(),
                              Address{batch.counters.memory, 0}, batch.control, rows.points, shared_.weights_of(rows),
                              shared_.tops.at(), shared_.exponents.at(), memory_.labels(0), arrays_.next(), model.sums,
                              model.weights, model.counts, scratch);
}

void ChangedSums::move_row(const device::ModelMemory& model, const device::PassKernels::RowMove& move) {
  const Kernel kernel(program(false), "move_row");
  kernel(queue_, shared_.grid(shared_.input.points.d), arrays_.shape(), shared_.block_of(move.row),
         arrays_.range_of(model), move.row.points, shared_.weights_of(move.row), shared_.tops.at(),
         shared_.exponents.at(), memory_.labels(0), model.sums, model.weights, model.counts, move.from, move.to);
}

}  // namespace manymeans::opencl
