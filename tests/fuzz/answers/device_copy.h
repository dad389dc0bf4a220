// A copy of points in the memory of a CUDA device.
#pragma once

#include <manymeans/points.h>

#include <memory>

namespace manymeans::fuzz {

class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;
  virtual const PointsView& view() const = 0;
};

/// Throws Error(kUnavailable) in a build without CUDA.
std::unique_ptr<DeviceCopy> copy_points_to_device(const PointsView& points);

}  // namespace manymeans::fuzz
