// Questions about rows on the device: distances to the prototypes that labels assign, and what follows from them.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/device/device_points.h"
#include "backend/cuda/points/point_slices.h"
#include "backend/cuda/runtime/device_memory.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace manymeans::cuda {

/// Labels and prototypes are in device memory; prototypes are k x D of prototype_type(points.type). Every call waits
/// for its result in the stream. Host memory and device memory beyond the arguments: as each function says.
class AssignedDistances {
 public:
  /// `input` is the host's description of the same points (formats, weights); it and the slices and the stream must
  /// outlive this.
  AssignedDistances(const Input& input, PointSlices& slices, const Stream& stream);

  /// Labels of the i-th model. They may lie where those of the model before did: they are asked for in the order in
  /// which the stream reads them.
  using LabelsOf = std::function<DeviceLabels(size_t)>;
  /// For each model the sum of RN(w' * d2) in the format that its farthest row gives. One reading of the points where a
  /// sample, or a call before, tells the size of all farthest distances to a factor of two or so; else another for
  /// those that it does not fit, once for each size at most.
  std::vector<InertiaSum> inertias(std::span<const void* const> prototypes, const LabelsOf& labels_of);
  /// Its limbs in this format. One reading.
  std::vector<int64_t> inertia(const DeviceLabels& labels, const void* prototypes, const SumFormat& format);
  /// d2 of every row. One reading; a few MB on the device.
  std::vector<double> distances(const DeviceLabels& labels, const void* prototypes);
  /// Rows with w' > 0 and d2 > 0, the `count` first by (d2 descending, row ascending). One reading of the points; where
  /// those are all on the device, 8 N bytes there and up to 12 readings of them, else 8 N bytes on the host.
  std::vector<DistantRow> farthest_rows(const DeviceLabels& labels, const void* prototypes, int64_t count);
  /// sqrt(d2) of every row to every prototype, as RowQuestions::transform. One reading; prototypes and a few MB on the
  /// device.
  void transform(const Matrix& prototypes, Matrix& distances);

 private:
  struct Sums;
  int64_t n() const { return slices_.points().n; }
  std::vector<double> distances(const DeviceLabels& labels, const void* prototypes, bool eligible);
  std::vector<DistantRow> farthest_on_device(const DeviceLabels& labels, const void* prototypes, int64_t count);
  std::vector<DistantRow> farthest_on_host(const DeviceLabels& labels, const void* prototypes, int64_t count);
  std::vector<Sums> sum_rows(std::span<const void* const> prototypes, const LabelsOf& labels_of,
                             const SumFormat& format, int64_t step);

  const Input& input_;
  PointSlices& slices_;
  const Stream& stream_;
  std::optional<SumFormat> last_;  // of an inertia: the next model is likely to have the same
  DeviceBuffer<int64_t> sums_;     // of each model 2 * kDistanceLimbs limbs, then the bits of the farthest distance
};

}  // namespace manymeans::cuda
