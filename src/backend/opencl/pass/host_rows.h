// Canonical distances of rows, by the host, to labels and prototypes that lie on the device.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/opencl_shared.h"
#include "prototype/prototype.h"

#include <vector>

namespace manymeans::opencl {

/// Its functions wait for the queue, as the host has to see what it has done.
class HostRows final : public device::RowKernels {
 public:
  HostRows(const OpenClShared& shared, const device::SessionMemory& memory)
      : input_(shared.input), prototype_(prototype_of(shared.input)), memory_(memory), queue_(memory.queue()) {}

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) override;
  void distances(const Assigned& assigned, Address out) override;
  void transform(const device::Rows& rows, Address prototypes, int64_t k, Address out) override;

 private:
  using Doubles = std::vector<double>;
  DataType type() const { return prototype_type(input_.points.type); }
  Doubles points(const device::Rows& rows) const;
  Doubles prototypes(Address from, int64_t k) const;
  Doubles assigned_distances(const Assigned& assigned) const;

  const Input& input_;
  const Prototype& prototype_;
  const device::SessionMemory& memory_;
  const device::Queue& queue_;
};

}  // namespace manymeans::opencl
