// Questions about rows and linear models on the device: residuals to the models of their labels, to all, to candidates.
#pragma once

#include "backend/cuda/linear/linear_kernels.h"
#include "backend/cuda/linear/linear_shared.h"
#include "backend/device/device_kernels.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace manymeans::cuda {

class AssignedResiduals final : public device::RowKernels {
 public:
  /// `input` and the stream must outlive this.
  AssignedResiduals(const Input& input, int label_width, const Stream& stream)
      : input_(input), label_width_(label_width), stream_(stream) {}

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, device::Address sums) override;
  void distances(const Assigned& assigned, device::Address out) override;
  /// 8 bytes a row on the device, and up to 12 readings of them.
  std::optional<std::vector<DistantRow>> farthest_rows(const Assigned& assigned, int64_t count) override;
  void transform(const device::Rows& rows, device::Address prototypes, int64_t k, device::Address out) override;
  bool finds_two_nearest() const override { return true; }
  void two_nearest(const device::Rows& rows, const device::Prototypes& among, device::Address out) override;

 private:
  AssignedRows every(int64_t step, const Assigned& assigned) const;

  const Input& input_;
  int label_width_;
  const Stream& stream_;
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
