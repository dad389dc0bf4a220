// The points as a pass reads them: slices of rows (device/row_slices.h), with what the screens make of them.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/point_slice.h"
#include "backend/cuda/float32/float_kernels.h"
#include "backend/cuda/points/slice_plan.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_pack.h"
#include "backend/device/row_slices.h"

namespace manymeans::cuda {

/// The frames of a screen's copies of the rows.
struct SliceFrames {
  HalfFrame half;
  DeviceFrame full;
};

/// These rows as kernels know them.
inline DevicePoints points_of(const Input& input, const device::Rows& rows) {
  const PointsView& points = input.points;
  return {pointer_to(rows.points),
          points.type,
          rows.count,
          points.d,
          pointer_to<const double>(rows.weights),
          rows.first,
          input.shard.first + rows.first};
}

class PointSlices {
 public:
  /// The frames' pointers and `input` must outlive this. Enqueues uploads in `stream`.
  PointSlices(const Input& input, const SlicePlan& plan, const device::RowSlices::Host& host, const SliceFrames& frames,
              const Stream& stream);

  device::RowSlices& rows() { return rows_; }
  /// All rows; `data` is null where they are not all on the device.
  const DevicePoints& points() const { return whole_.points; }
  /// Rows of a slice, or all of them, with what screens read; until the next call. Enqueues what makes that.
  PointSlice for_screens(const device::Rows& rows, cudaStream_t stream);

 private:
  void make_room();
  void prepare(PointSlice& slice, cudaStream_t stream);

  const Input& input_;
  SlicePlan plan_;
  SliceFrames frames_;
  device::RowSlices rows_;
  PointSlice whole_;
  // Copies of a slice for the screens.
  DeviceBuffer<uint16_t> halves_;
  DeviceBuffer<float> radii_, half_norms_, norms_;
};

}  // namespace manymeans::cuda
