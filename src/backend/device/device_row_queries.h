// Questions about rows, asked of a device.
#pragma once

#include "backend/device/device_kernels.h"
#include "backend/device/row_slices.h"
#include "backend/device/session_memory.h"
#include "backend/session.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace manymeans::device {

/// Host memory and device memory beyond the arguments: as each function says.
class DeviceRowQueries final : public RowQueries {
 public:
  /// The session's data of a model: its memory, and its labels in the order of the rows. These labels may lie where the
  /// model's own lay before.
  struct Session {
    std::function<ModelMemory(int slot)> memory_of;
    std::function<Address(int slot)> labels_of;
    std::function<void()> use_device;
  };
  DeviceRowQueries(const SessionMemory& memory, RowSlices& slices, RowKernels& kernels, Session session);

  /// One reading of the points; where the device does not sort the rows out, 8 N bytes on the host.
  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  /// One reading of the points if a sample, or a call before, tells all farthest distances to a factor of two or so.
  /// Otherwise one more for the models that it does not fit, once for each size at most.
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  /// One reading.
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  /// One reading; a few MB on the device.
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  /// One reading; K prototypes and a few MB on the device.
  void transform(const Matrix& prototypes, Matrix& distances) override;
  /// One reading; K prototypes on the device.
  bool transform_to(const Matrix& prototypes, const ResultRoom& room) override;
  /// One reading; K prototypes and a few MB on the device.
  bool two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) override;

 private:
  using TermSums = RowKernels::TermSums;
  int64_t n() const { return memory_.input().points.n; }
  const Queue& queue() const { return memory_.queue(); }
  void upload(int slot, const Matrix& prototypes);
  RowKernels::Assigned assigned(int slot, const Rows& rows);
  template <class Body>
  void for_each_chunk(int64_t most, Body&& body);
  std::vector<double> distances_of(int slot);
  std::vector<DistantRow> sorted_by_host(int slot, int64_t count);
  void read_labels(Address labels, std::vector<DistantRow>& rows) const;
  std::vector<TermSums> sum_rows(std::span<const int> slots, const SumFormat& format, int64_t step);

  const SessionMemory& memory_;
  RowSlices& slices_;
  RowKernels& kernels_;
  Session session_;
  std::optional<SumFormat> last_;  // of an inertia: the next model is likely to have the same
  Buffer sums_;
};

}  // namespace manymeans::device
