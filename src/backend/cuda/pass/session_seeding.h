// What k-means++ and k-means|| ask of sessions: the seed_ functions of backend/backend.h.
#pragma once

#include "backend/cuda/pass/cuda_shared.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace manymeans::cuda {

class DeviceSeeding;
struct HostSeeding;

/// The device does it where all points lie there. Else the host does: a step reads all points, and its memory is faster
/// than the link to the device.
class SessionSeeding {
 public:
  /// For models with these numbers of prototypes. All arguments but k must outlive this.
  SessionSeeding(const CudaShared& shared, std::vector<int64_t> k, const Stream& stream);

  void add(std::span<const Session::SeedCentres> models);
  WideInt total(int slot);
  std::vector<int64_t> pick(int slot, std::span<const uint64_t> u);
  void trials(std::span<SeedTrial> trials);
  std::vector<int64_t> sample(int slot, uint64_t key, uint32_t draw, int64_t factor);
  void end();

 private:
  Session* on_host();
  DeviceSeeding& on_device();

  const CudaShared& shared_;
  std::vector<int64_t> k_;
  const Stream& stream_;
  std::shared_ptr<DeviceSeeding> device_;  // shared, as only session_seeding.cu knows the types
  std::shared_ptr<HostSeeding> host_;
};

}  // namespace manymeans::cuda
