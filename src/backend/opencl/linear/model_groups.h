// Linear models in groups, as the kernels of linear.cl read them.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/opencl_shared.h"

#include <cstdint>

namespace manymeans::opencl {

/// The program of linear.cl for these points.
const Program& linear_program(const OpenClShared& shared);

/// Room for the models of one question after the other.
class ModelGroups {
 public:
  /// Both must outlive this.
  ModelGroups(const OpenClShared& shared, const device::Queue& queue);

  /// Enqueues what puts these models in groups; they stand there until the next call's do. Where they need more room
  /// than any before, it waits for the queue.
  Address pack(const device::Prototypes& models);

 private:
  const OpenClShared& shared_;
  const device::Queue& queue_;
  Kernel pack_;
  device::Buffer groups_;
};

/// The number of the first value, for kernels that get it apart.
int64_t first_value(const OpenClShared& shared, Address prototypes);

}  // namespace manymeans::opencl
