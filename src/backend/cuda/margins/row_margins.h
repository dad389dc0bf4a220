// The margins of the rows of a session's only model, and what is screened instead of all rows.
#pragma once

#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/device/session_shape.h"
#include "backend/cuda/margins/carried_margins.h"

#include <cstdint>

namespace manymeans::cuda {

/// Returns true if a session of this shape may carry margins (carried_margins.h).
bool carries_margins(const SessionShape& shape);
/// The max rows that are worth screening on their own: nearly all with many clusters, when a row's copies cost little.
int64_t max_rows_left(int64_t rows, int64_t clusters, BoundsUse use);
/// The max rows left that are copied together.
int64_t margin_piece_rows(int64_t max_left, int32_t padded_columns);

class RowMargins {
 public:
  /// For a shape that carries_margins().
  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { RowMargins().lay_out(shape, room); });
  }
  /// `scale`: from distances of points to the frame's distances; `bound_scale`: tests only.
  RowMargins(const SessionShape& shape, double scale, double bound_scale, const Stream& stream);

  /// `known`: the margins are from the pass before. `far`: MarginTask::far.
  MarginTask task(const PassWork& pass, bool known, const uint32_t* far);
  /// The row's label was changed elsewhere.
  void forget_row(int64_t row, const Stream& stream);

 private:
  RowMargins() = default;
  void lay_out(const SessionShape& shape, DeviceRoom& room);

  int64_t rows_ = 0;
  int64_t d_ = 0;
  int32_t padded_columns_ = 0;
  double scale_ = 1;
  double bound_scale_ = 1;
  DeviceBuffer<float> margins_;  // NaN: not known
  DeviceBuffer<std::byte> followed_prototypes_;
  DeviceBuffer<float> shifts_, losses_;
  DeviceBuffer<uint32_t> left_numbers_;
  DeviceBuffer<uint16_t> piece_values_;
  DeviceBuffer<float> piece_radii_, piece_norms_;
  DeviceBuffer<MarginState> state_;
};

}  // namespace manymeans::cuda
