#include "backend/opencl/pass/score_screen.h"

#include "backend/opencl/kernels/kernel_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {
namespace {

// Argument of the kernel pack_columns().
struct ColumnBound {
  double slope, square, absolute, scale;
};

}  // namespace

ScoreScreen::ScoreScreen(const OpenClShared& shared, const device::SessionMemory& memory, PassArrays& arrays)
    : shared_(shared), queue_(memory.queue()), arrays_(arrays) {
  const int64_t d = shared.input.points.d;
  const int64_t in_registers = d <= kRegisterColumns ? d : 0;
  screen_ = Kernel(shared.program(kScreenSource, fmt::format("-DD={}", in_registers)), "screen");
  pack_ = Kernel(shared.exact_program(kExactSource), "pack_columns");
}

void ScoreScreen::pack_prototypes(const device::PassBatch& batch) {
  const size_t states = batch.models.size() * kStates * sizeof(Int32);
  queue_.fill(arrays_.states(), std::byte{0}, states, "clearing what models say");
  const FloatBound& bound = shared_.bound;
  const ColumnBound of_column{bound.slope, bound.square, bound.absolute, shared_.frame.scale};
  pack_(queue_, shared_.grid(batch.max_clusters, static_cast<int64_t>(batch.models.size())), arrays_.shape(batch),
        of_column, arrays_.ranges(), batch.control, batch.models[0].prototypes, shared_.centre.at(), arrays_.columns(),
        arrays_.states());
}

void ScoreScreen::look(const device::PassBatch& batch, const device::Rows& rows) {
  const int64_t width = shared_.input.points.d + 1;
  Address packed = shared_.packed.at();
  int64_t first = rows.first * width;
  if (!packed) {
    packed = arrays_.slice();
    first = 0;
    shared_.pack_rows(rows, packed, queue_);
  }
  // Few rows are shared out by models, too.
  const auto models = static_cast<int64_t>(batch.models.size());
  const int64_t vectors = (rows.count + shared_.used.launch.width - 1) / shared_.used.launch.width;
  const Grid all = shared_.grid(vectors * models);
  const auto parts = std::clamp<int64_t>(static_cast<int64_t>(all.items) / std::max<int64_t>(1, vectors), 1, models);
  screen_(queue_, shared_.grid(vectors, parts), arrays_.shape(batch), shared_.bound.score, rows.count, arrays_.ranges(),
          batch.control, packed, first, arrays_.columns(), arrays_.states(), arrays_.marks(), arrays_.next());
}

}  // namespace manymeans::opencl
