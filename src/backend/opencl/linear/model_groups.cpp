#include "backend/opencl/linear/model_groups.h"

#include "backend/opencl/kernels/kernel_sources.h"
#include "core/rounding.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::opencl {
namespace {

constexpr int64_t kMaxInLanes = 8;   // features, each of which has a lane of the sum of its own
constexpr int64_t kMaxTogether = 8;  // models of a group

// A vector of binary64 is as wide as one of half as many float32.
int models_together(const OpenClShared& shared) {
  return shared.used.launch.width >= 2 * kMaxTogether ? kMaxTogether : kMaxTogether / 2;
}

}  // namespace

const Program& linear_program(const OpenClShared& shared) {
  const int64_t features = shared.input.points.d - 1;
  return shared.exact_program(
      kLinearSource, fmt::format("-DF={} -DGROUP={}", features <= kMaxInLanes ? features : 0, models_together(shared)));
}

ModelGroups::ModelGroups(const OpenClShared& shared, const device::Queue& queue)
    : shared_(shared), queue_(queue), pack_(linear_program(shared), "pack_models") {}

Address ModelGroups::pack(const device::Prototypes& models) {
  const int64_t d = shared_.input.points.d;
  const int64_t values = padded(models.k, kMaxTogether) * d;
  const size_t bytes = static_cast<size_t>(values) * sizeof(double);
  if (groups_.bytes() < bytes) {
    queue_.synchronize("making room for models");
    groups_ = device::Buffer(shared_.device, bytes, "models in groups");
  }
  pack_(queue_, shared_.grid(values), d, models.k, models.at, first_value(shared_, models.at), groups_.at());
  return groups_.at();
}

int64_t first_value(const OpenClShared& shared, Address prototypes) {
  return static_cast<int64_t>(prototypes.offset / size_of(prototype_type(shared.input.points.type)));
}

}  // namespace manymeans::opencl
