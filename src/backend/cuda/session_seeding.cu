// What k-means++ and k-means|| ask of a session.
#include "backend/cuda/cuda_session.h"
#include "backend/cuda/device_seeding.h"

namespace manymeans::cuda {

DeviceSeeding& CudaSession::seeding() {
  use_device(shared_.device);
  if (!seeding_) {
    SeedingOptions options;
    options.exact = shared_.plan.screen == ScreenKind::kNone;
    options.bound_scale = shared_.options.test_bound_scale;
    seeding_ = std::make_shared<DeviceSeeding>(shared_.input, shared_.points, static_cast<int>(models_.size()), stream_,
                                               options);
  }
  return *seeding_;
}

void CudaSession::seed_add(std::span<const SeedCentres> models) {
  seeding().add(models);
}

WideInt CudaSession::seed_total(int slot) {
  return seeding().total(slot);
}

std::vector<int64_t> CudaSession::seed_pick(int slot, std::span<const uint64_t> u) {
  return seeding().pick(slot, u);
}

void CudaSession::seed_try(std::span<SeedTrial> trials) {
  seeding().trials(trials);
}

std::vector<int64_t> CudaSession::seed_sample(int slot, uint64_t key, uint32_t draw, int64_t factor) {
  return seeding().sample(slot, key, draw, factor);
}

void CudaSession::seed_end() {
  use_device(shared_.device);
  seeding_.reset();
}

}  // namespace manymeans::cuda
