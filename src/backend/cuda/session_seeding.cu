// What k-means++ and k-means|| ask of a session.
//
// The device does it where all points lie there. Else the host does: a step reads all points, and its memory is faster
// than the link to the device.
#include "backend/backend.h"
#include "backend/cuda/cuda_session.h"
#include "backend/cuda/device_seeding.h"

namespace manymeans::cuda {

struct HostSeeding {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Upload> upload;
  std::unique_ptr<Session> session;
};

// Null where the device seeds.
Session* CudaSession::host_seeding() {
  if (shared_.slices->points().data != nullptr) return nullptr;
  if (!host_seeding_) {
    std::vector<int64_t> k;
    for (const Model& m : models_) k.push_back(m.k);
    host_seeding_ = std::make_shared<HostSeeding>();
    host_seeding_->backend = make_backend("cpu", {.threads = shared_.options.threads, .abort = shared_.options.abort});
    host_seeding_->upload = host_seeding_->backend->upload(shared_.input);
    host_seeding_->session = host_seeding_->upload->session(k, shared_.options.threads);
  }
  return host_seeding_->session.get();
}

DeviceSeeding& CudaSession::seeding() {
  use_device(shared_.device);
  if (!seeding_) {
    SeedingOptions options;
    if (shared_.options.device_memory > 0) {
      options.memory_budget =
          std::max<int64_t>(1, shared_.options.device_memory - shared_.plan.upload_bytes - shared_.plan.session_bytes);
    }
    options.exact = shared_.plan.screen == ScreenKind::kNone;
    options.bound_scale = shared_.options.test_bound_scale;
    seeding_ = std::make_shared<DeviceSeeding>(shared_.input, shared_.slices->points(),
                                               static_cast<int>(models_.size()), stream_, options);
  }
  return *seeding_;
}

void CudaSession::seed_add(std::span<const SeedCentres> models) {
  if (Session* host = host_seeding()) return host->seed_add(models);
  seeding().add(models);
}

WideInt CudaSession::seed_total(int slot) {
  if (Session* host = host_seeding()) return host->seed_total(slot);
  return seeding().total(slot);
}

std::vector<int64_t> CudaSession::seed_pick(int slot, std::span<const uint64_t> u) {
  if (Session* host = host_seeding()) return host->seed_pick(slot, u);
  return seeding().pick(slot, u);
}

void CudaSession::seed_try(std::span<SeedTrial> trials) {
  if (Session* host = host_seeding()) return host->seed_try(trials);
  seeding().trials(trials);
}

std::vector<int64_t> CudaSession::seed_sample(int slot, uint64_t key, uint32_t draw, int64_t factor) {
  if (Session* host = host_seeding()) return host->seed_sample(slot, key, draw, factor);
  return seeding().sample(slot, key, draw, factor);
}

void CudaSession::seed_end() {
  use_device(shared_.device);
  seeding_.reset();
  host_seeding_.reset();
}

}  // namespace manymeans::cuda
