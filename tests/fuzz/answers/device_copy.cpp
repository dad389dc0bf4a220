#include "fuzz/answers/device_copy.h"

#include "backend/cuda/runtime/device_memory.h"

namespace manymeans::fuzz {
namespace {

class PointsOnDevice : public DeviceCopy {
 public:
  explicit PointsOnDevice(const PointsView& points) : bytes_(points.bytes(), "points of the fuzzer"), view_(points) {
    cuda::copy_to_device(bytes_.data(), static_cast<const std::byte*>(points.data), points.bytes(), stream_,
                         "points of the fuzzer");
    view_.data = bytes_.data();
    view_.place = {"cuda", 0, static_cast<cudaStream_t>(stream_)};
  }
  const PointsView& view() const override { return view_; }

 private:
  cuda::Stream stream_;
  cuda::DeviceBuffer<std::byte> bytes_;
  PointsView view_;
};

}  // namespace

std::unique_ptr<DeviceCopy> copy_points_to_device(const PointsView& points) {
  return std::make_unique<PointsOnDevice>(points);
}

}  // namespace manymeans::fuzz
