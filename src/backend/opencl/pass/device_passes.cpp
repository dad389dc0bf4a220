#include "backend/opencl/pass/device_passes.h"

#include "backend/opencl/kernels/kernel_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {
namespace {

std::string options_of_sums(const OpenClShared& shared, bool in_local) {
  const bool lone = shared.used.tuned.group == 1;
  return fmt::format("-DLIMBS={} -DLOCAL_SUMS={} -DLONE={} -DROTATED={}", shared.input.limbs, in_local ? 1 : 0,
                     lone ? 1 : 0, shared.used.tuned.low_contention ? 1 : 0);
}

}  // namespace

DevicePasses::DevicePasses(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k,
                           int threads)
    : shared_(shared), memory_(memory), queue_(memory.queue()), arrays_(shared, memory, k) {
  const Program& exact = shared.exact_program(kExactSource);
  if (!shared.plan.exact) screen_ = std::make_unique<ScoreScreen>(shared, memory, arrays_);
  if (shared.plan.tree) tree_ = std::make_unique<TreeScreen>(shared, memory, arrays_, k, threads);
  resolve_ = Kernel(exact, "resolve");
  resolve_all_ = Kernel(exact, "resolve_all");
  end_pass_ = Kernel(exact, "end_pass");
  update_ = Kernel(exact, "update");
  judge_update_ = Kernel(exact, "judge_update");
  relabel_ = Kernel(exact, "relabel");
}

const Kernel& DevicePasses::accumulate_kernel(bool in_local) {
  Kernel& kernel = accumulate_[in_local ? 1 : 0];
  if (!kernel) {
    kernel = Kernel(shared_.exact_program(kAccumulateSource, options_of_sums(shared_, in_local)), "accumulate");
  }
  return kernel;
}

// Many passes of small problems, whose time is that of a question; a few of large ones, so that the device does not
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
  accumulate(batch, rows);
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

// In local memory where a group adds up many more values than it has sums, which it adds to the others' in the end.
void DevicePasses::accumulate(const device::PassBatch& batch, const device::Rows& rows) {
  constexpr int64_t kValuesForASum = 5;
  const Shape shape = arrays_.shape(batch);
  const int64_t sums = batch.most_clusters * (shape.limbs * shape.d + 2);
  const int64_t words = (rows.count * shape.label_width + 7) / 8;
  Grid grid = shared_.grid(words, static_cast<int64_t>(batch.models.size()));
  if (shared_.used.tuned.contiguous) {
    // A work-item's rows stay in a processor's cache for the next model.
    constexpr int64_t kCached = int64_t{128} << 10;
    const int64_t bytes = rows.count * shape.d * static_cast<int64_t>(size_of(shared_.input.points.type));
    grid.items = std::max<size_t>(grid.items, static_cast<size_t>(std::min(bytes / kCached, words)));
  }
  const auto groups = static_cast<int64_t>(grid.items / grid.group);
  const bool in_local = shared_.used.tuned.low_contention && 8 * sums <= shared_.used.facts.local_memory / 2 &&
                        rows.count * shape.d / groups >= kValuesForASum * sums;
  const LocalBytes scratch{static_cast<size_t>(in_local ? 8 * sums : 8)};
  const device::ModelMemory& model = batch.models[0];
  accumulate_kernel(in_local)(queue_, grid, shape, shared_.block_of(rows), arrays_.ranges(),
                              Address{batch.counters.memory, 0}, batch.control, rows.points, shared_.weights_of(rows),
                              shared_.tops.at(), shared_.exponents.at(), memory_.labels(0), arrays_.next(), model.sums,
                              model.weights, model.counts, scratch);
}

void DevicePasses::end_pass(const device::PassBatch& batch) {
  end_pass_(queue_, shared_.one_group(shared_.used.tuned.group), arrays_.shape(batch), arrays_.ranges(),
            Address{batch.counters.memory, 0}, batch.control, batch.models[0].weights);
}

void DevicePasses::update(const device::PassBatch& batch) {
  const device::ModelMemory& model = batch.models[0];
  const Shape shape = arrays_.shape(batch);
  update_(queue_, shared_.grid(batch.most_clusters * shape.d, static_cast<int64_t>(batch.models.size())), shape,
          arrays_.ranges(), batch.control, model.sums, model.weights, shared_.solve_shifts.at(), model.prototypes,
          model.before);
  if (!batch.limits.shifts.any()) return;
  const Grid grid = shared_.one_group(shared_.used.tuned.group);
  const LocalBytes numbers{grid.group * sizeof(int64_t)};
  judge_update_(queue_, grid, shape, arrays_.ranges(), Address{batch.counters.memory, 0}, batch.control,
                model.prototypes, model.before, numbers, numbers);
}

void DevicePasses::move_row(const device::ModelMemory& model, const RowMove& move) {
  const Kernel kernel(shared_.exact_program(kAccumulateSource, options_of_sums(shared_, false)), "move_row");
  kernel(queue_, shared_.grid(shared_.input.points.d), arrays_.shape(), shared_.block_of(move.row),
         arrays_.range_of(model), move.row.points, shared_.weights_of(move.row), shared_.tops.at(),
         shared_.exponents.at(), memory_.labels(0), model.sums, model.weights, model.counts, move.from, move.to);
}

void DevicePasses::relabel(int slot, Address table) {
  RowBlock rows = {};
  rows.count = shared_.input.points.n;
  const int64_t first = slot * memory_.label_stride();
  relabel_(queue_, shared_.grid(rows.count), arrays_.shape(), rows, memory_.labels(0), first, table);
}

}  // namespace manymeans::opencl
