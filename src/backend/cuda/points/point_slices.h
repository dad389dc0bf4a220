// The points as a pass reads them: slices of rows (device/row_slices.h), with what the screens make of them.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/point_slice.h"
#include "backend/cuda/device/screen.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/points/slice_plan.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_pack.h"
#include "backend/device/row_slices.h"

#include <functional>

namespace manymeans::cuda {

using device::kAllSlices;

/// What a screen's copies of the rows are made with.
struct SliceFrames {
  HalfFrame half;
  DeviceFrame full;
};

class PointSlices {
 public:
  /// The frames' pointers and `input` must outlive this. Enqueues uploads in `stream`.
  PointSlices(const Input& input, const SlicePlan& plan, const device::RowSlices::Host& host, const SliceFrames& frames,
              const Stream& stream);

  bool whole() const { return rows_.whole(); }
  /// All rows; `data` is null where they are not all on the device.
  const DevicePoints& points() const { return whole_.points; }

  enum class Use : uint8_t { kPoints, kScreen };
  /// As device::RowSlices has it. `packed` and `norms` are there for kScreen only.
  void for_each(const Stream& stream, Use use, const std::function<void(const PointSlice&)>& body,
                int64_t most = kAllSlices);

  /// One row, in `buffer` if it was not on the device.
  DevicePoints row(int64_t row, device::Buffer& buffer, const Stream& stream) const {
    return points_of(rows_.row(row, buffer, stream));
  }

 private:
  DevicePoints points_of(const device::Rows& rows) const;
  void make_room();
  void prepare(PointSlice& slice, cudaStream_t stream);

  const PointsView& view_;
  SlicePlan plan_;
  SliceFrames frames_;
  device::RowSlices rows_;
  PointSlice whole_;
  // Copies of a slice for the screens.
  DeviceBuffer<uint16_t> halves_;
  DeviceBuffer<float> radii_, half_norms_, norms_;
};

}  // namespace manymeans::cuda
