#include "backend/cuda/pass/session_seeding.h"
#include "backend/cuda/queries/device_seeding.h"

#include <utility>

namespace manymeans::cuda {

struct HostSeeding {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Upload> upload;
  std::unique_ptr<Session> session;
};

SessionSeeding::SessionSeeding(const CudaShared& shared, std::vector<int64_t> k, const Stream& stream)
    : shared_(shared), k_(std::move(k)), stream_(stream) {}

// Null where the device seeds.
Session* SessionSeeding::on_host() {
  if (shared_.slices->points().data != nullptr) return nullptr;
  if (!host_) {
    host_ = std::make_shared<HostSeeding>();
    host_->backend = make_backend("cpu", {.threads = shared_.options.threads, .abort = shared_.options.abort});
    host_->upload = host_->backend->upload(shared_.input);
    host_->session = host_->upload->session(k_, shared_.options.threads);
  }
  return host_->session.get();
}

DeviceSeeding& SessionSeeding::on_device() {
  use_device(shared_.device);
  if (!device_) {
    SeedingOptions options;
    if (shared_.options.device_memory > 0) {
      options.memory_budget =
          std::max<int64_t>(1, shared_.options.device_memory - shared_.plan.upload_bytes - shared_.plan.session_bytes);
    }
    options.exact = shared_.plan.screen == ScreenKind::kNone;
    options.bound_scale = shared_.options.test_bound_scale;
    device_ = std::make_shared<DeviceSeeding>(shared_.input, shared_.slices->points(), static_cast<int>(k_.size()),
                                              stream_, options);
  }
  return *device_;
}

void SessionSeeding::add(std::span<const Session::SeedCentres> models) {
  if (Session* host = on_host()) return host->seed_add(models);
  on_device().add(models);
}

WideInt SessionSeeding::total(int slot) {
  if (Session* host = on_host()) return host->seed_total(slot);
  return on_device().total(slot);
}

std::vector<int64_t> SessionSeeding::pick(int slot, std::span<const uint64_t> u) {
  if (Session* host = on_host()) return host->seed_pick(slot, u);
  return on_device().pick(slot, u);
}

void SessionSeeding::trials(std::span<SeedTrial> trials) {
  if (Session* host = on_host()) return host->seed_try(trials);
  on_device().trials(trials);
}

std::vector<int64_t> SessionSeeding::sample(int slot, uint64_t key, uint32_t draw, int64_t factor) {
  if (Session* host = on_host()) return host->seed_sample(slot, key, draw, factor);
  return on_device().sample(slot, key, draw, factor);
}

void SessionSeeding::end() {
  use_device(shared_.device);
  device_.reset();
  host_.reset();
}

}  // namespace manymeans::cuda
