// The float32 screen of a session, and the second look in float32 at rows that a coarser screen left.
#pragma once

#include "backend/cuda/device/device_room.h"
#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/device/session_shape.h"
#include "backend/cuda/exact/exact_stage.h"
#include "backend/cuda/float32/float_kernels.h"

#include <cstdint>

namespace manymeans::cuda {

/// A model's prototypes are padded to a multiple of this.
inline int64_t float_column_multiple(int64_t d) {
  return d <= kLowColumns ? kLowMultiple : kTileMultiple;
}

/// The frame of the points, and the error bound of a score.
struct FloatFrame {
  DeviceFrame frame;
  FloatBound bound;
};

/// The prototypes as columns, which both looks pack anew in every pass.
class FloatPrototypes {
 public:
  static int64_t bytes(const SessionShape& shape) {
    return DeviceRoom::counted([&](DeviceRoom& room) { FloatPrototypes().lay_out(shape, room); });
  }
  FloatPrototypes() = default;
  FloatPrototypes(const SessionShape& shape, const FloatFrame& frame);

  /// A look at the slice's rows; `exact` says where what it cannot prove is marked.
  FloatScreenTask task(const PassWork& pass, const PointSlice& slice, ExactStage& exact);

 private:
  void lay_out(const SessionShape& shape, DeviceRoom& room);
  FloatColumns columns(uint32_t* far);

  int64_t d_ = 0;
  FloatFrame frame_;
  DeviceBuffer<float> columns_;  // starts, slopes and values; for more than kLowColumns columns errors too
};

class FloatScreen final : public Screen {
 public:
  static int64_t bytes(const SessionShape& shape) { return FloatPrototypes::bytes(shape) + ExactStage::bytes(shape); }
  FloatScreen(const SessionShape& shape, const FloatFrame& frame, const ExactStage::Sums& sums)
      : prototypes_(shape, frame), exact_(shape, sums), multiprocessors_(sums.multiprocessors) {}

  std::span<uint32_t> numbers() override { return exact_.numbers(); }
  void begin_batch(std::span<const ModelMemory>, const Stream&) override {}
  void enqueue(const PassWork& pass, const PointSlice& slice, const Stream& stream) override;

 private:
  FloatPrototypes prototypes_;
  ExactStage exact_;
  int multiprocessors_;
};

/// Marked rows of all models that a pass can look at again in float32.
int64_t marked_capacity(int64_t rows, int64_t models);
/// Slices of the columns that blocks look at in parallel for `marked` rows.
int64_t marked_slices(int64_t marked);

/// For more than kLowColumns columns.
class SecondLook {
 public:
  static int64_t bytes(const SessionShape& shape) {
    return FloatPrototypes::bytes(shape) +
           DeviceRoom::counted([&](DeviceRoom& room) { SecondLook().lay_out(shape, room); });
  }
  SecondLook(const SessionShape& shape, const FloatFrame& frame, int multiprocessors);

  /// Looks at the rows that are marked, which stay marked where float32 proves no label either.
  void enqueue(const PassWork& pass, const PointSlice& slice, ExactStage& exact, const Stream& stream);

 private:
  SecondLook() = default;
  void lay_out(const SessionShape& shape, DeviceRoom& room);

  FloatPrototypes prototypes_;
  int multiprocessors_ = 1;
  DeviceBuffer<int64_t> rows_;
  DeviceBuffer<uint32_t> counts_;
  DeviceBuffer<SliceTop> tops_;
};

}  // namespace manymeans::cuda
