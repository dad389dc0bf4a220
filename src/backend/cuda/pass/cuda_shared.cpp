#include "backend/cuda/pass/cuda_shared.h"

#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/device/sum_scales.h"

#include <cmath>

namespace manymeans::cuda {

CudaShared::CudaShared(const Input& data, const CudaDevice& where, const BackendOptions& how, const Workload& workload)
    : input(data), device(where), options(how) {
  {
    ThreadPool pool(thread_count(options.threads), options.abort);
    frame = find_frame(data, &pool);
  }
  half_frame = find_half_frame(data, frame.centre, frame.largest);
  plan = make_cuda_plan(data, device, options, half_frame.ratio, workload);
  use_device(device);
  patience = {Patience::Seconds(plan.usual_seconds), min_patience(), options.abort, options.cancel};
  const Stream stream(patience);
  upload_frame(stream);
  upload_terms(stream);
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
  scaled_centre_ = DeviceBuffer<float>(d, "the screen's frame");
  std::vector<float> scaled(d);
  const Settled settled(stream);  // `scaled` must not go before
  for (size_t j = 0; j < d; ++j) scaled[j] = static_cast<float>(std::ldexp(frame.centre[j], frame.exponent));
  copy_to_device(centre_.data(), frame.centre.data(), d, stream, "the screen's frame");
  copy_to_device(scaled_centre_.data(), scaled.data(), d, stream, "the screen's frame");
  device_frame.centre = half_frame.centre = centre_.data();
  device_frame.scaled_centre = scaled_centre_.data();
  device_frame.scale = std::ldexp(1.0, frame.exponent);
  device_frame.in_float = subtracts_in_float(input, frame.exponent);
  device_frame.float_scale = static_cast<float>(device_frame.in_float ? device_frame.scale : 1.0);
  stream.synchronize("uploading the screen's frame");
}

void CudaShared::upload_terms(const Stream& stream) {
  const device::SumScales scales(input);
  const size_t d = scales.tops.size();
  const Settled settled(stream);  // `scales` must not go before
  tops_ = DeviceBuffer<double>(d, "the sums' formats");
  exponents_ = DeviceBuffer<int32_t>(d, "the sums' formats");
  solve_shifts = DeviceBuffer<int32_t>(d, "the sums' formats");
  copy_to_device(tops_.data(), scales.tops.data(), d, stream, "the sums' formats");
  copy_to_device(exponents_.data(), scales.exponents.data(), d, stream, "the sums' formats");
  copy_to_device(solve_shifts.data(), scales.solve_shifts.data(), d, stream, "the sums' formats");
  stream.synchronize("uploading the sums' formats");
  terms = {scales.limbs, input.bits, scales.radix, scales.normal ? tops_.data() : nullptr, exponents_.data()};
}

}  // namespace manymeans::cuda
