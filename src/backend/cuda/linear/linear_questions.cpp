#include "backend/cuda/linear/linear_questions.h"

#include "backend/cuda/points/point_slices.h"

namespace manymeans::cuda {
namespace {

LinearModels models_of(const Input& input, device::Address values, int64_t k) {
  return {pointer_to(values), k, input.points.type == DataType::kFloat64};
}

}  // namespace

void AssignedResiduals::transform(const device::Rows& rows, device::Address prototypes, int64_t k,
                                  device::Address out) {
  find_all_residuals(points_of(input_, rows), models_of(input_, prototypes, k), pointer_to(out), stream_);
}

void AssignedResiduals::two_nearest(const device::Rows& rows, const device::Prototypes& among, device::Address out) {
  find_two_nearest(points_of(input_, rows), models_of(input_, among.at, among.k), pointer_to<TwoNearest>(out), stream_);
}

void ResidualSeedKernels::lower(const device::Rows& rows, const device::Prototypes& centres, bool first,
                                device::Address least) {
  lower_by_residuals(points_of(shared_.input, rows), models_of(shared_.input, centres.at, centres.k), first,
                     pointer_to<double>(least), stream_);
}

void ResidualSeedKernels::add_potentials(const device::Rows& rows, const Potentials& potentials) {
  const auto& [candidates, least, format, sums] = potentials;
  cuda::add_potentials({points_of(shared_.input, rows), models_of(shared_.input, candidates.at, candidates.k),
                        pointer_to<double>(least), TermSplitter(format), pointer_to<int64_t>(sums)},
                       stream_);
}

}  // namespace manymeans::cuda
