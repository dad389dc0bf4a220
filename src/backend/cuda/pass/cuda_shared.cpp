#include "backend/cuda/pass/cuda_shared.h"

#include "backend/cuda/runtime/endless_kernel.h"

#include <cmath>

namespace manymeans::cuda {

CudaShared::CudaShared(const Input& data, const CudaDevice& where, const BackendOptions& how, const Workload& workload)
    : input(data), device(where), options(how) {
  {
    ThreadPool pool(thread_count(options.threads), options.abort);
    frame = find_frame(data, &pool);
  }
  half_frame =
      find_half_frame(data, frame.centre, frame.largest, product_roundings(device.matrix_unit == MatrixUnit::kHopper));
  plan = make_cuda_plan(data, device, options, half_frame.radius.ratio, workload);
  use_device(device);
  patience = {Patience::Seconds(plan.usual_seconds), min_patience(), options.abort, options.cancel};
  const Stream stream(patience);
  upload_frame(stream);
  sums = SumTerms(input, stream);
  terms = sums.terms();
  bound = FloatBound::make(input.points.d, frame.exponent, options.tuning.cuda.bound_scale);
  slices =
      std::make_unique<PointSlices>(input, plan, device::RowSlices::Host{thread_count(options.threads), options.abort},
                                    SliceFrames{half_frame, device_frame}, stream);
  if (plan.screen == ScreenKind::kBoundingBoxes) {
    boxes = std::make_unique<BoxedPoints>(slices->points(), terms, input.weight_shift, stream);
  }
  hang_if_asked("upload", stream);
  stream.synchronize("uploading points");
}

void CudaShared::upload_frame(const Stream& stream) {
  const size_t d = frame.centre.size();
  centre_ = DeviceBuffer<double>(d, "the screen's frame");
  scaled_centres_ = DeviceBuffer<float>(2 * d, "the screen's frame");
  std::vector<float> scaled(2 * d);
  const Settled settled(stream);  // `scaled` must not go before
  const auto fill = [&](DeviceFrame& to, int exponent, size_t first) {
    for (size_t j = 0; j < d; ++j) scaled[first + j] = static_cast<float>(std::ldexp(frame.centre[j], exponent));
    to.centre = centre_.data();
    to.scaled_centre = scaled_centres_.data() + first;
    to.scale = std::ldexp(1.0, exponent);
    to.in_float = subtracts_in_float(input, exponent);
    to.float_scale = static_cast<float>(to.in_float ? to.scale : 1.0);
  };
  fill(device_frame, frame.exponent, 0);
  fill(half_frame, half_frame.exponent, d);
  copy_to_device(centre_.data(), frame.centre.data(), d, stream, "the screen's frame");
  copy_to_device(scaled_centres_.data(), scaled.data(), 2 * d, stream, "the screen's frame");
  stream.synchronize("uploading the screen's frame");
}

}  // namespace manymeans::cuda
