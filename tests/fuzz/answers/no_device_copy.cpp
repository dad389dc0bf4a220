// Stands in for device_copy.cpp in builds without CUDA.
#include <manymeans/error.h>

#include "fuzz/answers/device_copy.h"

namespace manymeans::fuzz {

std::unique_ptr<DeviceCopy> copy_points_to_device(const PointsView&) {
  throw Error(ErrorCode::kUnavailable, "points on a device",
              "this build has no CUDA; configure it with -DMANYMEANS_CUDA=ON");
}

}  // namespace manymeans::fuzz
