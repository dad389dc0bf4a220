// Distances of rows to the prototypes that labels assign them to, or to all, on the device: what inertia, distances,
// farthest rows and transform of a session are made of (device/row_questions.h).
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/device_kernels.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace manymeans::cuda {

class AssignedDistances final : public device::RowKernels {
 public:
  /// Of rows of these points, with labels of so many bytes. Input and stream must outlive this.
  AssignedDistances(const Input& input, int label_width, const Stream& stream)
      : input_(input), label_width_(label_width), stream_(stream) {}

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, device::Address sums) override;
  void distances(const Assigned& assigned, bool eligible, device::Address out) override;
  /// 8 bytes a row on the device, and up to 12 readings of them.
  std::optional<std::vector<DistantRow>> farthest_rows(const Assigned& assigned, int64_t count) override;
  void transform(const device::Rows& rows, device::Address prototypes, int64_t k, device::Address out) override;

 private:
  DeviceLabels labels_of(const Assigned& assigned) const { return {pointer_to(assigned.labels), label_width_}; }

  const Input& input_;
  int label_width_;
  const Stream& stream_;
};

}  // namespace manymeans::cuda
