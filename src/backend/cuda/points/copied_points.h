// Points of the host's memory that are copied to a device before anything reads them. The device checks them and finds
// ranges, formats and moments in a fraction of the time that the host takes to read them once more.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/runtime/device_memory.h"

namespace manymeans::cuda {

class CudaCopiedPoints final : public CopiedPoints {
 public:
  /// On the current device, whose number this is.
  CudaCopiedPoints(const PointsView& points, int device, const BackendOptions& options);
  GivenPoints points() const override { return {view_}; }

  /// Returns true if copying the points pays; the device has `room` bytes.
  static bool pays(const PointsView& points, int64_t room);

 private:
  DeviceBuffer<std::byte> values_;
  PointsView view_;
};

}  // namespace manymeans::cuda
