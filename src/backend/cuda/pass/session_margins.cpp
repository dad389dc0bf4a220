// What a session does beside its passes where its only model carries margins (carried_margins.h).
#include "backend/cuda/pass/cuda_session.h"
#include "backend/cuda/tensor/matrix_screen.h"

#include <cmath>

namespace manymeans::cuda {

void CudaSession::make_room_for_margins() {
  const CudaPlan& plan = shared_.plan;
  const std::vector<int64_t> k(models_.size(), models_[0].k);
  if (!carries_margins(plan, n(), k)) return;
  const int64_t left = most_rows_left(n(), k[0], plan.bounds);
  const auto piece = static_cast<size_t>(margin_piece_rows(left, plan.padded_columns));
  // Any pass of which so much is kept that the others are screened on their own was worth it, and carrying costs so
  // little that it may begin early.
  // With floors a pass over all rows ranks fewer columns, but none while margins are carried: those need the true
  // runner-up.
  policy_ = BoundsPolicy(plan.bounds, plan.floors ? BoundsPolicy::Rule{.start_below = 0.02, .worth_carrying = 0.35}
                                                  : BoundsPolicy::Rule{.start_below = 0.05, .worth_carrying = 1e-9});
  margins_ = DeviceBuffer<float>(static_cast<size_t>(stride_), "the rows' margins");
  followed_prototypes_ =
      DeviceBuffer<std::byte>(static_cast<size_t>(k[0] * d()) * prototype_bytes(), "the prototypes of a pass");
  moved_ = DeviceBuffer<float>(static_cast<size_t>(k[0]), "the prototypes' paths");
  losses_ = DeviceBuffer<float>(static_cast<size_t>(k[0]), "the prototypes' paths");
  left_numbers_ = DeviceBuffer<uint32_t>(static_cast<size_t>(left), "the rows left");
  piece_values_ = DeviceBuffer<uint16_t>(piece * static_cast<size_t>(plan.padded_columns), "the rows left");
  piece_radii_ = DeviceBuffer<float>(piece, "the rows left");
  piece_norms_ = DeviceBuffer<float>(piece, "the rows left");
  margin_state_ = DeviceBuffer<MarginState>(1, "the rows left");
  fill_zero(margin_state_.data(), 1, stream_, "clearing the state of margins");
  fill_zero(followed_prototypes_.data(), followed_prototypes_.size(), stream_, "clearing prototypes");
  fill_zero(piece_radii_.data(), piece, stream_, "clearing rows");
}

MarginTask CudaSession::margin_task(const PassRanges& ranges) {
  MarginTask task;
  task.ranges = ranges;
  task.rows = n();
  task.d = d();
  task.scale = shared_.half_frame.scale;
  task.underflow = distance_underflow(d(), task.scale);
  task.bound_scale = shared_.options.tuning.cuda.bound_scale;
  task.known = margins_known_;
  task.previous = followed_prototypes_.data();
  task.moved = moved_.data();
  task.losses = losses_.data();
  task.margins = margins_.data();
  task.current = current_rows(0);
  task.next = next_rows();
  task.far = far_from_matrix();
  task.row_numbers = left_numbers_.data();
  task.most_left = static_cast<int64_t>(left_numbers_.size());
  task.piece_rows = static_cast<int64_t>(piece_radii_.size());
  task.piece.values = piece_values_.data();
  task.piece.radii = piece_radii_.data();
  task.piece.norms = piece_norms_.data();
  task.piece.rows = task.piece.padded_rows = task.piece_rows;
  task.piece.padded_columns = shared_.plan.padded_columns;
  task.state = margin_state_.data();
  return task;
}

// All rows, or those that do not keep their labels: which of the two the device decides. Only one of them does
// anything.
void CudaSession::enqueue_screen_of_rows_left(const PassRanges& ranges, const PackedRows& points,
                                              const PackedColumns& columns, const ScreenOutput& output) {
  const int processors = shared_.device.multiprocessors;
  const MarginTask task = margin_task(ranges);
  follow_prototypes(task, stream_);
  keep_labels(task, processors, stream_);
  PackedColumns screened = columns;
  screened.stopped = &task.state->skip_all;
  const float slack = margin_slack(task.underflow);
  matrix_screen_counted(points, screened, output, {&task.state->all_rows, nullptr, task.margins, slack}, stream_);
  screened.stopped = &task.state->skip_left;
  for (int piece = 0; piece < task.pieces(); ++piece) {
    gather_left(task, points, piece, processors, stream_);
    const uint32_t* numbers = task.row_numbers + piece * task.piece_rows;
    matrix_screen_counted(task.piece, screened, output, {&task.state->piece_rows[piece], numbers, task.margins, slack},
                          stream_);
  }
}

// What a pass of the batch, whose counters are here, says about carrying margins in the next ones.
void CudaSession::learn_of_margins(size_t pass) {
  const PassCounters& found = host_counters_[pass];
  PassResult result;
  result.changed = static_cast<int64_t>(found.changed);
  result.skipped = static_cast<int64_t>(found.kept);
  const bool carried = policy_.carries();
  policy_.learn(result, n(), pass_had_margins_[pass] != 0);
  ++passes_;
  if (carried || !policy_.carries()) return;
  shared_.bounds_log->began(passes_ + 1, static_cast<double>(result.changed) / static_cast<double>(n()));
}

void CudaSession::forget_margin(int64_t row) {
  if (margins_.empty()) return;
  check(cudaMemsetAsync(margins_.data() + row, 0xff, sizeof(float), stream_), "forgetting a row's margin");
}

}  // namespace manymeans::cuda
