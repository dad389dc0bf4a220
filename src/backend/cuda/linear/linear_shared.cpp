#include "backend/cuda/linear/linear_shared.h"

#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/device/sum_scales.h"
#include "core/threads.h"

namespace manymeans::cuda {

LinearShared::LinearShared(const Input& data, const CudaDevice& where, const BackendOptions& how,
                           const Workload& workload)
    : input(data), device(where), options(how), plan(make_linear_plan(data, where, how, workload)) {
  use_device(device);
  patience = {Patience::Seconds(plan.usual_seconds), min_patience(), options.abort, options.cancel};
  const Stream stream(patience);
  upload_formats(stream);
  const device::RowSlices::Host host{thread_count(options.threads), options.abort};
  slices = std::make_unique<device::RowSlices>(input, plan, host, stream);
  hang_if_asked("upload", stream);
  stream.synchronize("uploading points");
}

void LinearShared::upload_formats(const Stream& stream) {
  const device::SumScales scales(input);
  const size_t terms = scales.tops.size();
  tops_ = DeviceBuffer<double>(terms, "the sums' formats");
  exponents_ = DeviceBuffer<int32_t>(terms, "the sums' formats");
  sum_formats_ = DeviceBuffer<SumFormat>(terms, "the sums' formats");
  const Settled settled(stream);  // `scales` must not go before
  copy_to_device(tops_.data(), scales.tops.data(), terms, stream, "the sums' formats");
  copy_to_device(exponents_.data(), scales.exponents.data(), terms, stream, "the sums' formats");
  copy_to_device(sum_formats_.data(), input.columns.data(), terms, stream, "the sums' formats");
  formats = {scales.limbs, scales.radix, scales.normal ? tops_.data() : nullptr, exponents_.data()};
  rests = rests_of_products(input);
  stream.synchronize("uploading the sums' formats");
}

}  // namespace manymeans::cuda
