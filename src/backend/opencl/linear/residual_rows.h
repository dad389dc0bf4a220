// Questions about rows and linear models, answered by the device: residuals to the models of their labels, to all, and
// to candidates.
#pragma once

#include "backend/opencl/linear/model_groups.h"
#include "backend/opencl/pass/device_rows.h"

namespace manymeans::opencl {

class ResidualRows final : public DeviceRows {
 public:
  ResidualRows(const OpenClShared& shared, const device::SessionMemory& memory);

  bool finds_two_nearest() const override { return true; }
  void two_nearest(const device::Rows& rows, const device::Prototypes& among, Address out) override;

 private:
  const OpenClShared& shared_;
  const device::Queue& queue_;
  ModelGroups groups_;
  Kernel two_nearest_;
};

class ResidualSeedKernels final : public device::SeedKernels {
 public:
  /// Both must outlive this.
  ResidualSeedKernels(const OpenClShared& shared, const device::Queue& queue);

  void lower(const device::Rows& rows, const device::Prototypes& centres, bool first, Address least) override;
  void add_potentials(const device::Rows& rows, const Potentials& potentials) override;

 private:
  const OpenClShared& shared_;
  const device::Queue& queue_;
  ModelGroups groups_;
  Kernel lower_, add_potentials_;
};

}  // namespace manymeans::opencl
