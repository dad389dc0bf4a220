// Canonical distances of rows, by the device.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/opencl/pass/opencl_shared.h"

namespace manymeans::opencl {

class DeviceRows : public device::RowKernels {
 public:
  /// `program` has questions.cl.
  DeviceRows(const OpenClShared& shared, const device::SessionMemory& memory, const Program& program);

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) override;
  bool adds_label_terms() const override { return true; }
  void add_label_terms(const NumberedLabels& labels, Address sums) override;
  void distances(const Assigned& assigned, Address out) override;
  void transform(const device::Rows& rows, Address prototypes, int64_t k, Address out) override;

 private:
  void join(const Grid& grid, Address sums);

  const OpenClShared& shared_;
  const device::SessionMemory& memory_;
  const device::Queue& queue_;
  Kernel add_terms_, add_label_terms_, join_terms_, distances_, transform_;
  device::Buffer found_;  // by each group
};

}  // namespace manymeans::opencl
