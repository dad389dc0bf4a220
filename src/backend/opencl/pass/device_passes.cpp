#include "backend/opencl/pass/device_passes.h"

#include "backend/opencl/kernels/kernel_sources.h"

#include <algorithm>

namespace manymeans::opencl {

DevicePasses::DevicePasses(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k)
    : shared_(shared),
      memory_(memory),
      queue_(memory.queue()),
      arrays_(shared, memory, k),
      sums_(shared, memory, arrays_) {
  const Program& exact = shared.exact_program(kExactSource);
  if (!shared.plan.exact) screen_ = std::make_unique<ScoreScreen>(shared, memory, arrays_);
  if (shared.plan.tree) tree_ = std::make_unique<TreeScreen>(shared, memory, arrays_, k);
  resolve_ = Kernel(exact, "resolve");
  resolve_all_ = Kernel(exact, "resolve_all");
  end_pass_ = Kernel(exact, "end_pass");
  update_ = Kernel(exact, "update");
  judge_update_ = Kernel(exact, "judge_update");
  renumber_ = Kernel(exact, "renumber");
}

// Small problems run many passes: a query takes as long as they do. Large ones run a few, so that the device does not
// wait for launches.
int DevicePasses::passes_between_questions(const device::PassBatch& batch) const {
  if (!shared_.slices->whole()) return 1;  // each waits for the points anyway
  constexpr double kWork = 1e8;            // products of a compute unit; some milliseconds
  const PointsView& points = shared_.input.points;
  double work = 1;
  for (const device::ModelMemory& model : batch.models) {
    work += static_cast<double>(model.k) * static_cast<double>(points.n) * static_cast<double>(points.d + 8);
  }
  return static_cast<int>(std::clamp(kWork * shared_.used.facts.compute_units / work, 2.0, 8.0));
}

void DevicePasses::pass(const device::PassBatch& batch, const device::Rows& rows, bool first) {
  if (screen_ && first) screen_->pack_prototypes(batch);
  if (screen_) screen_->look(batch, rows);
  if (tree_) {
    tree_->label(batch, rows);
  } else {
    resolve(batch, rows);
  }
  sums_.accumulate(batch, rows);
}

void DevicePasses::resolve(const device::PassBatch& batch, const device::Rows& rows) {
  const auto models = static_cast<int64_t>(batch.models.size());
  const Address prototypes = batch.models[0].prototypes;
  const Address counters{batch.counters.memory, 0};
  const RowBlock block = shared_.block_of(rows);
  if (screen_) {
    resolve_(queue_, shared_.grid((rows.count + 31) / 32, models), arrays_.shape(batch), block, arrays_.ranges(),
             counters, batch.control, rows.points, prototypes, arrays_.marks(), arrays_.next());
  } else {
    resolve_all_(queue_, shared_.grid(rows.count, models), arrays_.shape(batch), block, arrays_.ranges(), counters,
                 batch.control, rows.points, prototypes, arrays_.next());
  }
}

void DevicePasses::end_pass(const device::PassBatch& batch) {
  end_pass_(queue_, shared_.one_group(shared_.used.launch.group), arrays_.shape(batch), arrays_.ranges(),
            Address{batch.counters.memory, 0}, batch.control, batch.models[0].weights);
}

void DevicePasses::update(const device::PassBatch& batch) {
  const device::ModelMemory& model = batch.models[0];
  const Shape shape = arrays_.shape(batch);
  update_(queue_, shared_.grid(batch.max_clusters * shape.d, static_cast<int64_t>(batch.models.size())), shape,
          arrays_.ranges(), batch.control, model.sums, model.weights, shared_.solve_shifts.at(), model.prototypes,
          model.before);
  if (!batch.limits.shifts.any()) return;
  const Grid grid = shared_.one_group(shared_.used.launch.group);
  const LocalBytes numbers{grid.group * sizeof(int64_t)};
  judge_update_(queue_, grid, shape, arrays_.ranges(), Address{batch.counters.memory, 0}, batch.control,
                model.prototypes, model.before, numbers, numbers);
}

void DevicePasses::renumber(int slot, Address table) {
  RowBlock rows = {};
  rows.count = shared_.input.points.n;
  const int64_t first = slot * memory_.label_stride();
  renumber_(queue_, shared_.grid(rows.count), arrays_.shape(), rows, memory_.labels(0), first, table);
}

}  // namespace manymeans::opencl
