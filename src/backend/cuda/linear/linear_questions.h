// Questions about rows and linear models on the device: residuals to the models of their labels, to all, to candidates.
#pragma once

#include "backend/cuda/linear/linear_kernels.h"
#include "backend/cuda/linear/linear_shared.h"
#include "backend/device/device_kernels.h"

namespace manymeans::cuda {

class AssignedResiduals final : public AssignedKernels {
 public:
  using AssignedKernels::AssignedKernels;

  void transform(const device::Rows& rows, device::Address prototypes, int64_t k, device::Address out) override;
  bool finds_two_nearest() const override { return true; }
  void two_nearest(const device::Rows& rows, const device::Prototypes& among, device::Address out) override;

 private:
  void sum(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums) const override {
    sum_residuals(rows, a, b, sums, stream_);
  }
  void find(const AssignedRows& rows, bool eligible, double* out) const override {
    find_residuals(rows, eligible, out, stream_);
  }
  const char* found() const override { return "residuals of all rows"; }
};

class ResidualSeedKernels final : public device::SeedKernels {
 public:
  ResidualSeedKernels(const LinearShared& shared, const Stream& stream) : shared_(shared), stream_(stream) {}

  void use_device() const override { cuda::use_device(shared_.device); }
  void lower(const device::Rows& rows, const device::Prototypes& centres, bool first, device::Address least) override;
  void add_potentials(const device::Rows& rows, const Potentials& potentials) override;

 private:
  const LinearShared& shared_;
  const Stream& stream_;
};

}  // namespace manymeans::cuda
