// The prototypes of a session's models as columns of the screen in the tensor cores.
#pragma once

#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/device/session_shape.h"
#include "backend/cuda/tensor/matrix_pack.h"

#include <cstdint>
#include <span>

namespace manymeans::cuda {

class PrototypeColumns {
 public:
  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { PrototypeColumns().lay_out(shape, room); });
  }
  /// `bound_scale`: tests only.
  PrototypeColumns(const SessionShape& shape, const HalfFrame& frame, double bound_scale);

  /// Enqueues what the screen is told of the batch's models.
  void begin_batch(std::span<const ModelMemory> models, const Stream& stream);
  /// How the pass's prototypes are packed; `far`: MatrixPackTask::far.
  MatrixPackTask pack_task(const PassWork& pass, uint32_t* far);
  PackedColumns packed(const PassRanges& ranges);
  /// How far the prototypes have moved since they were packed before; null if columns are in order of number.
  const float* shifts() const { return shifts_.data(); }

 private:
  PrototypeColumns() = default;
  void lay_out(const SessionShape& shape, DeviceRoom& room);
  /// Columns are in order of norm if score thresholds pass over some of them, else of their prototypes' numbers.
  bool by_norm() const { return !sort_keys_.empty(); }

  int64_t d_ = 0;
  MatrixUnit unit_ = MatrixUnit::kNone;
  int32_t padded_columns_ = 0;
  int32_t tile_columns_ = 0;
  int32_t batch_columns_ = 0;  // of the models of this batch
  HalfFrame frame_;
  double bound_scale_ = 1;
  DeviceBuffer<uint16_t> halves_;
  DeviceBuffer<float> bounds_;  // offsets, slopes and errors
  DeviceBuffer<uint32_t> order_;
  DeviceBuffer<float> tile_terms_;
  DeviceBuffer<ColumnRange> column_ranges_;
  PinnedBuffer<ColumnRange> host_column_ranges_;
  DeviceBuffer<float> prototypes_before_, shifts_;  // if columns are in order of norm
  DeviceBuffer<uint64_t> sort_keys_;                // see ColumnSort
  DeviceBuffer<uint32_t> sorted_prototypes_, column_of_;
  DeviceBuffer<std::byte> sort_scratch_;
};

}  // namespace manymeans::cuda
