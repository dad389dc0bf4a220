#include "backend/opencl/pass/score_screen.h"

#include "backend/opencl/kernels/kernel_sources.h"
#include "core/data_type.h"
#include "core/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace manymeans::opencl {
namespace {

constexpr double kMaxNorm = 0x1p62;  // the square stays below 2^126, within float32
constexpr float kNeverWins = -0x1p126F;

// What the kernel pack_columns() is given.
struct ColumnBound {
  double slope, square, absolute, scale;
};

}  // namespace

ScoreScreen::ScoreScreen(const OpenClShared& shared, const device::SessionMemory& memory, PassArrays& arrays)
    : shared_(shared), queue_(memory.queue()), arrays_(arrays) {
  const int64_t d = shared.input.points.d;
  const int64_t in_registers = d <= kRegisterColumns ? d : 0;
  screen_ = Kernel(shared.program(kScreenSource, fmt::format("-DD={}", in_registers)), "screen");
  if (shared.plan.resolves) pack_ = Kernel(shared.exact_program(kExactSource), "pack_columns");
}

void ScoreScreen::pack_prototypes(const device::PassBatch& batch) {
  if (!shared_.plan.resolves) return pack_on_host(batch);
  const size_t states = batch.models.size() * kStates * sizeof(Int32);
  queue_.fill(arrays_.states(), std::byte{0}, states, "clearing what models say");
  const FloatBound& bound = shared_.bound;
  const ColumnBound of_column{bound.slope, bound.square, bound.absolute, shared_.frame.scale};
  pack_(queue_, shared_.grid(batch.max_clusters, static_cast<int64_t>(batch.models.size())), arrays_.shape(batch),
        of_column, arrays_.ranges(), batch.control, batch.models[0].prototypes, shared_.centre.at(), arrays_.columns(),
        arrays_.states());
}

// The same numbers as the kernel pack_columns() makes.
void ScoreScreen::pack_on_host(const device::PassBatch& batch) {
  const int64_t d = shared_.input.points.d;
  const int64_t together = shared_.used.tuned.columns;
  const DataType type = prototype_type(shared_.input.points.type);
  const FloatBound& bound = shared_.bound;
  const Range& last = arrays_.models().back();
  columns_.assign(static_cast<size_t>((last.first + padded(last.k, kMaxColumnsTogether)) * (d + 3)), 0.0F);
  states_.assign(batch.models.size() * kStates, 0);
  std::vector<double> c(static_cast<size_t>(d));
  for (size_t m = 0; m < batch.models.size(); ++m) {
    const Range& range = arrays_.models()[m];
    Int32* const state = states_.data() + m * kStates;
    prototypes_.resize(static_cast<size_t>(range.k * d) * size_of(type));
    queue_.read_back(prototypes_.data(), batch.models[m].prototypes, prototypes_.size(), "fetching prototypes");
    for (int64_t k = 0; k < padded(range.k, together); ++k) {
      const int64_t column = range.first + k;
      float* const to = columns_.data() + column / together * (d + 3) * together + column % together;
      to[0] = kNeverWins;
      if (k >= range.k) continue;
      widen(prototypes_.data(), type, k * d, d, c.data());
      double sum = 0;
      for (int64_t j = 0; j < d; ++j) {
        const auto at = static_cast<size_t>(j);
        const double z = (c[at] - shared_.frame.centre[at]) * shared_.frame.scale;
        sum = std::fma(z, z, sum);
        to[(3 + j) * together] = std::fabs(z) < kMaxNorm ? static_cast<float>(z) : 0.0F;
      }
      const double norm = std::sqrt(sum) * (1 + 0x1p-20);
      if (!(norm < kMaxNorm)) {
        state[kFar] = 1;
        continue;
      }
      const double error = bound.square * (sum / 2) + bound.absolute;
      to[0] = rounded_up(error - sum / 2);
      to[together] = rounded_up(bound.slope * norm);
      to[2 * together] = rounded_up(error);
      state[kTopSlope] = std::max(state[kTopSlope], std::bit_cast<Int32>(to[together]));
      state[kTopError] = std::max(state[kTopError], std::bit_cast<Int32>(to[2 * together]));
    }
  }
  queue_.copy_to_device(arrays_.columns(), columns_.data(), columns_.size() * sizeof(float), "the prototypes' columns");
  queue_.copy_to_device(arrays_.states(), states_.data(), states_.size() * sizeof(Int32), "what models say");
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
  const int64_t vectors = (rows.count + shared_.used.tuned.width - 1) / shared_.used.tuned.width;
  const Grid all = shared_.grid(vectors * models);
  const auto parts = std::clamp<int64_t>(static_cast<int64_t>(all.items) / std::max<int64_t>(1, vectors), 1, models);
  screen_(queue_, shared_.grid(vectors, parts), arrays_.shape(batch), shared_.bound.score, rows.count, arrays_.ranges(),
          batch.control, packed, first, arrays_.columns(), arrays_.states(), arrays_.marks(), arrays_.next());
}

}  // namespace manymeans::opencl
