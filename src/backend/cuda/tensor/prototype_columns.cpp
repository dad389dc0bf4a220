#include "backend/cuda/tensor/prototype_columns.h"

#include "backend/cuda/tensor/matrix_bounds.h"
#include "backend/cuda/tensor/matrix_screen.h"

#include <algorithm>
#include <cmath>

namespace manymeans::cuda {
namespace {

// Covers the underflow of squares in binary64; never a denormal number.
float half_underflow(int64_t d, int exponent) {
  return static_cast<float>(std::max(std::ldexp(static_cast<double>(d), 2 * std::min(exponent, 600) - 1073), 0x1p-100));
}

int tile_columns_of(const SessionShape& shape) {
  return matrix_tile_columns(shape.unit, shape.padded_columns, shape.max_clusters());
}

}  // namespace

PrototypeColumns::PrototypeColumns(const SessionShape& shape, const HalfFrame& frame, double bound_scale)
    : d_(shape.d),
      unit_(shape.unit),
      padded_columns_(shape.padded_columns),
      tile_columns_(tile_columns_of(shape)),
      frame_(frame),
      bound_scale_(bound_scale),
      host_column_ranges_(shape.k.size(), "the models' columns") {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
}

void PrototypeColumns::lay_out(const SessionShape& shape, DeviceRoom& room) {
  const int tile_columns = tile_columns_of(shape);
  const int64_t columns = shape.padded_clusters(tile_columns);
  room.hold(halves_, columns * shape.padded_columns, "the prototypes' columns");
  room.hold(bounds_, 3 * columns, "the columns' bounds");
  room.hold(order_, columns, "the columns' prototypes");
  room.hold(tile_terms_, matrix_terms(columns, tile_columns), "the tiles' terms");
  room.hold(column_ranges_, shape.models(), "the models' columns");
  if (!shape.score_thresholds) return;
  room.hold(prototypes_before_, shape.clusters() * shape.d, "the prototypes of the pass before");
  room.hold(shifts_, columns, "movements of prototypes");
  room.hold(sort_keys_, 2 * columns, "the columns' order");
  room.hold(sorted_prototypes_, columns, "the columns' order");
  room.hold(column_of_, columns, "the columns' order");
  room.hold(sort_scratch_, ColumnSort::room(columns), "the columns' order");
}

void PrototypeColumns::begin_batch(std::span<const ModelMemory> models, const Stream& stream) {
  batch_columns_ = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    ColumnRange& columns = host_column_ranges_[i] = ColumnRange{};
    columns.slot = models[i].slot;
    columns.first = batch_columns_;
    columns.count = static_cast<int32_t>(padded(models[i].k, tile_columns_));
    columns.slack = static_cast<float>(matrix_slack(d_) * bound_scale_ * (1 + 0x1p-20));
    columns.underflow = half_underflow(d_, frame_.exponent);
    batch_columns_ += columns.count;
  }
  copy_to_device(column_ranges_.data(), host_column_ranges_.data(), models.size(), stream, "the models' columns");
}

PackedColumns PrototypeColumns::packed(const PassRanges& ranges) {
  const size_t count = order_.size();
  PackedColumns columns;
  columns.unit = unit_;
  columns.values = halves_.data();
  columns.offsets = bounds_.data();
  columns.slopes = bounds_.data() + count;
  columns.errors = bounds_.data() + 2 * count;
  columns.order = order_.data();
  columns.column_of = column_of_.data();
  columns.by_number = !by_norm();
  columns.columns = batch_columns_;
  columns.ranges = column_ranges_.data();
  columns.models = ranges.count;
  columns.tile_columns = tile_columns_;
  columns.terms = tile_terms_.data();
  columns.stopped = &ranges.control->stopped;
  return columns;
}

MatrixPackTask PrototypeColumns::pack_task(const PassWork& pass, uint32_t* far) {
  MatrixPackTask task;
  task.ranges = pass.ranges;
  task.d = d_;
  task.frame = frame_;
  task.bound_scale = bound_scale_;
  task.padded_columns = padded_columns_;
  task.far = far;
  task.columns = packed(pass.ranges);
  if (!by_norm()) return task;
  task.sort = {sort_keys_.data(), sort_keys_.data() + order_.size(), sorted_prototypes_.data(), sort_scratch_.data(),
               sort_scratch_.size()};
  task.shifts = {pass.prototypes, prototypes_before_.data(), shifts_.data()};
  return task;
}

}  // namespace manymeans::cuda
