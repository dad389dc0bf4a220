#include "backend/cuda/margins/row_margins.h"

#include <algorithm>

namespace manymeans::cuda {

bool carries_margins(const SessionShape& shape) {
  return shape.bounds != BoundsUse::kNever && shape.tensor_cores() && shape.slice_rows >= shape.rows &&
         shape.models() == 1;
}

// A row that is left is read, written and read once more, which takes the device as long as about 200 columns.
int64_t max_rows_left(int64_t rows, int64_t clusters, BoundsUse use) {
  constexpr double kColumns = 200;
  const double share = static_cast<double>(clusters) / (static_cast<double>(clusters) + kColumns);
  return static_cast<int64_t>(static_cast<double>(rows) * (use == BoundsUse::kAlways ? std::max(share, 0.75) : share));
}

int64_t margin_piece_rows(int64_t max_left, int32_t padded_columns) {
  constexpr int64_t kPieceBytes = int64_t{512} << 20;
  const int64_t wanted = std::min(max_left, kPieceBytes / (2 * padded_columns));
  const int64_t least = (max_left + kMaxPieces - 1) / kMaxPieces;
  return std::max(kRowBlock, padded(std::max(wanted, least), kRowBlock));
}

RowMargins::RowMargins(const SessionShape& shape, double scale, double bound_scale, const Stream& stream)
    : rows_(shape.rows), d_(shape.d), padded_columns_(shape.padded_columns), scale_(scale), bound_scale_(bound_scale) {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
  const Settled settled(stream);  // the owner of the memory may fail to be made
  fill_zero(state_.data(), 1, stream, "clearing the state of margins");
  fill_zero(followed_prototypes_.data(), followed_prototypes_.size(), stream, "clearing prototypes");
  fill_zero(piece_radii_.data(), piece_radii_.size(), stream, "clearing rows");
}

void RowMargins::lay_out(const SessionShape& shape, DeviceRoom& room) {
  const int64_t k = shape.max_clusters();
  const int64_t left = max_rows_left(shape.rows, k, shape.bounds);
  const int64_t piece = margin_piece_rows(left, shape.padded_columns);
  room.hold(margins_, shape.label_stride(), "the rows' margins");
  room.hold(followed_prototypes_, k * shape.d * (shape.float64 ? 8 : 4), "the prototypes of a pass");
  room.hold(shifts_, k, "the prototypes' shifts");
  room.hold(losses_, k, "the prototypes' shifts");
  room.hold(left_numbers_, left, "the rows left");
  room.hold(piece_values_, piece * shape.padded_columns, "the rows left");
  room.hold(piece_radii_, piece, "the rows left");
  room.hold(piece_norms_, piece, "the rows left");
  room.hold(state_, 1, "the rows left");
}

MarginTask RowMargins::task(const PassWork& pass, bool known, const uint32_t* far) {
  MarginTask task;
  task.ranges = pass.ranges;
  task.rows = rows_;
  task.d = d_;
  task.scale = scale_;
  task.underflow = distance_underflow(d_, scale_);
  task.bound_scale = bound_scale_;
  task.known = known;
  task.previous = followed_prototypes_.data();
  task.shifts = shifts_.data();
  task.losses = losses_.data();
  task.margins = margins_.data();
  task.current = pass.current;
  task.next = pass.next;
  task.far = far;
  task.row_numbers = left_numbers_.data();
  task.max_left = static_cast<int64_t>(left_numbers_.size());
  task.piece_rows = static_cast<int64_t>(piece_radii_.size());
  task.piece.values = piece_values_.data();
  task.piece.radii = piece_radii_.data();
  task.piece.norms = piece_norms_.data();
  task.piece.rows = task.piece.padded_rows = task.piece_rows;
  task.piece.padded_columns = padded_columns_;
  task.state = state_.data();
  return task;
}

void RowMargins::forget_row(int64_t row, const Stream& stream) {
  check(cudaMemsetAsync(margins_.data() + row, 0xff, sizeof(float), stream), "forgetting a row's margin");
}

}  // namespace manymeans::cuda
