#include "backend/cuda/tensor/tensor_screen.h"

#include "backend/cuda/tensor/matrix_screen.h"

namespace manymeans::cuda {
namespace {

RowMemory::Use use_of(const SessionShape& shape, const TensorScreen::Frames& frames) {
  return {shape.score_thresholds, frames.always_thresholds, carries_margins(shape) ? shape.bounds : BoundsUse::kNever};
}

}  // namespace

RowScores::RowScores(const SessionShape& shape) : stride_(shape.label_stride()) {
  DeviceRoom room(DeviceRoom::Mode::kAllocate);
  lay_out(shape, room);
}

void RowScores::lay_out(const SessionShape& shape, DeviceRoom& room) {
  room.hold(lowers_, shape.models() * shape.label_stride(), "the rows' best scores");
  room.hold(falls_, shape.models(), "falls of scores");
  room.hold(sampled_falls_, shape.models() * kSampledRows, "falls of scores");
}

ScoreThresholds RowScores::thresholds(const PassWork& pass, const float* shifts, bool used) {
  return {lowers_.data(), stride_, pass.current, shifts, used ? falls_.data() : nullptr};
}

void RowScores::guess(const PackedRows& rows, const PackedColumns& columns, const ScreenOutput& output,
                      int64_t max_clusters, const Stream& stream) {
  FallsTask falls{rows, columns, output.thresholds};
  falls.sample = sampled_falls_.data();
  falls.failing = failing_rows(rows.rows, max_clusters, output.overflow.capacity);
  guess_falls(falls, stream);
}

int64_t TensorScreen::bytes(const SessionShape& shape) {
  return PrototypeColumns::bytes(shape) + ExactStage::bytes(shape) +
         (shape.score_thresholds ? RowScores::bytes(shape) : 0) +
         (carries_margins(shape) ? RowMargins::bytes(shape) : 0) +
         (shape.d > kLowColumns ? SecondLook::bytes(shape) : 0);
}

TensorScreen::TensorScreen(const SessionShape& shape, const Frames& frames, const ExactStage::Sums& sums,
                           BoundsLog& log, const Stream& stream)
    : d_(shape.d),
      multiprocessors_(sums.multiprocessors),
      columns_(shape, frames.half, frames.bound_scale),
      exact_(shape, sums),
      memory_(use_of(shape, frames), shape.rows, shape.d, shape.k.size(), log) {
  if (shape.score_thresholds) scores_.emplace(shape);
  if (carries_margins(shape)) margins_.emplace(shape, frames.half.scale, frames.bound_scale, stream);
  if (shape.d > kLowColumns) second_look_.emplace(shape, frames.full, sums.multiprocessors);
}

void TensorScreen::begin_batch(std::span<const ModelMemory> models, const Stream& stream) {
  memory_.begin_batch(models);
  columns_.begin_batch(models, stream);
  exact_.clear_marks(models.size(), stream);
}

void TensorScreen::enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) {
  screen_rows(pass, slice, stream);
  const bool gathers = gathers_candidates(pass.ranges.max_clusters, d_);
  if (gathers) gather_candidates(slice.packed, columns_.packed(pass.ranges), output(pass), stream);
  exact_.resolve_few(pass, slice, gathers, stream);
  if (gathers && second_look_) second_look_->enqueue(pass, slice, exact_, stream);
  exact_.resolve_all(pass, slice, gathers, stream);
  exact_.accumulate(pass, slice, stream);
}

ScreenOutput TensorScreen::output(const PassWork& pass) {
  ScreenOutput output = exact_.output(pass.next);
  if (scores_) output.thresholds = scores_->thresholds(pass, columns_.shifts(), memory_.uses_thresholds());
  return output;
}

void TensorScreen::screen_rows(const PassWork& pass, const PointSlice& slice, const Stream& stream) {
  const MatrixPackTask task = pack_task(pass);
  pack_matrix_columns(task, stream);
  if (memory_.carries_margins()) return screen_rows_left(pass, slice.packed, task.columns, stream);
  const ScreenOutput output = this->output(pass);
  if (memory_.uses_thresholds()) {
    scores_->guess(slice.packed, task.columns, output, pass.ranges.max_clusters, stream);
  }
  matrix_screen(slice.packed, task.columns, output, stream);
}

// All rows, or those that do not keep their labels: which of the two the device decides. Only one of them does
// anything.
void TensorScreen::screen_rows_left(const PassWork& pass, const PackedRows& points, const PackedColumns& columns,
                                    const Stream& stream) {
  const ScreenOutput output = this->output(pass);
  const MarginTask task = margins_->task(pass, memory_.knows_margins(), exact_.far_from_matrix());
  follow_prototypes(task, stream);
  keep_labels(task, multiprocessors_, stream);
  PackedColumns screened = columns;
  screened.stopped = &task.state->skip_all;
  const float slack = margin_slack(task.underflow);
  matrix_screen_counted(points, screened, output, {&task.state->all_rows, nullptr, task.margins, slack}, stream);
  screened.stopped = &task.state->skip_left;
  for (int piece = 0; piece < task.pieces(); ++piece) {
    gather_left(task, points, piece, multiprocessors_, stream);
    const uint32_t* numbers = task.row_numbers + piece * task.piece_rows;
    matrix_screen_counted(task.piece, screened, output, {&task.state->piece_rows[piece], numbers, task.margins, slack},
                          stream);
  }
}

void TensorScreen::set_label(int slot, int64_t row, const uint32_t& label, const LabelRows& current,
                             const Stream& stream) {
  if (margins_) margins_->forget_row(row, stream);
  Screen::set_label(slot, row, label, current, stream);
}

}  // namespace manymeans::cuda
