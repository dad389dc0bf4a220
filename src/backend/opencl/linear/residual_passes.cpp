#include "backend/opencl/linear/residual_passes.h"

#include "backend/opencl/kernels/kernel_sources.h"

#include <fmt/format.h>

namespace manymeans::opencl {

const Program& linear_program(const OpenClShared& shared) {
  constexpr int64_t kMaxInLanes = 8;  // features, each with its own lane of the sum
  const int64_t features = shared.input.points.d - 1;
  const int group = shared.used.launch.contiguous ? 8 : 4;  // models that a work-item looks at together
  return shared.exact_program(kLinearSource,
                              fmt::format("-DF={} -DGROUP={}", features <= kMaxInLanes ? features : 0, group));
}

ResidualPasses::ResidualPasses(const OpenClShared& shared, const device::SessionMemory& memory,
                               std::span<const int64_t> k)
    : shared_(shared),
      memory_(memory),
      queue_(memory.queue()),
      arrays_(shared, memory, k),
      sums_(shared, memory, arrays_),
      pack_(linear_program(shared), "pack_batch"),
      label_(linear_program(shared), "label_by_residuals"),
      end_pass_(shared.exact_program(kExactSource), "end_pass"),
      renumber_(shared.exact_program(kExactSource), "renumber") {}

void ResidualPasses::pass(const device::PassBatch& batch, const device::Rows& rows, bool first) {
  const auto models = static_cast<int64_t>(batch.models.size());
  const Shape shape = arrays_.shape(batch);
  if (first) {
    pack_(queue_, shared_.grid(batch.max_clusters * shape.d, models), shape, arrays_.ranges(), batch.control,
          batch.models[0].prototypes, arrays_.columns());
  }
  label_(queue_, shared_.grid(rows.count, models), shape, shared_.block_of(rows), arrays_.ranges(),
         Address{batch.counters.memory, 0}, batch.control, rows.points, arrays_.columns(), arrays_.next());
  sums_.accumulate(batch, rows);
}

void ResidualPasses::end_pass(const device::PassBatch& batch) {
  end_pass_(queue_, shared_.one_group(shared_.used.launch.group), arrays_.shape(batch), arrays_.ranges(),
            Address{batch.counters.memory, 0}, batch.control, batch.models[0].weights);
}

void ResidualPasses::renumber(int slot, Address table) {
  RowBlock rows = {};
  rows.count = shared_.input.points.n;
  const int64_t first = slot * memory_.label_stride();
  renumber_(queue_, shared_.grid(rows.count), arrays_.shape(), rows, memory_.labels(0), first, table);
}

}  // namespace manymeans::opencl
