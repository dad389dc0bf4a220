#include "backend/cuda/exact/sum_terms.h"

#include "backend/device/sum_scales.h"

#include <vector>

namespace manymeans::cuda {

SumTerms::SumTerms(const Input& input, const Stream& stream) {
  const device::SumScales scales(input);
  const Settled settled(stream);  // `scales` must not go before
  const auto upload = [&]<class T>(DeviceBuffer<T>& to, const std::vector<T>& from) {
    to = DeviceBuffer<T>(from.size(), "the sums' formats");
    copy_to_device(to.data(), from.data(), from.size(), stream, "the sums' formats");
  };
  upload(tops_, scales.tops);
  upload(exponents_, scales.exponents);
  upload(solve_shifts_, scales.solve_shifts);
  stream.synchronize("uploading the sums' formats");
  terms_ = {scales.limbs, input.bits, scales.radix, scales.normal ? tops_.data() : nullptr, exponents_.data()};
  terms_.plain = are_plain(scales.exponents, input.bits);
}

}  // namespace manymeans::cuda
