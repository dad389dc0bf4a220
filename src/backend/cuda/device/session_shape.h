// The models of a session and the points they are for: what the device memory of its parts follows from.
#pragma once

#include "backend/bounds_policy.h"
#include "backend/cuda/device/matrix_operands.h"
#include "core/rounding.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

namespace manymeans::cuda {

struct SessionShape {
  std::span<const int64_t> k;  ///< prototypes of each model
  int64_t rows = 0;            ///< of all points
  int64_t slice_rows = 0;      ///< max that a pass has on the device together
  int64_t d = 0;
  int limbs = 1;
  bool float64 = false;         ///< the prototypes' type
  int64_t column_multiple = 1;  ///< a model's prototypes are padded to a multiple of this where models are side by side
  // For the screen in the tensor cores; kNone where another one serves.
  MatrixUnit unit = MatrixUnit::kNone;
  int32_t padded_columns = 0;     ///< of a packed row
  bool score_thresholds = false;  ///< rows remember what their best score was (score_falls.h)
  BoundsUse bounds = BoundsUse::kNever;
  int64_t bounding_boxes = 0;  ///< of the points, if they are in any

  int64_t models() const { return static_cast<int64_t>(k.size()); }
  int64_t clusters() const { return std::accumulate(k.begin(), k.end(), int64_t{0}); }
  int64_t max_clusters() const { return k.empty() ? 1 : std::max<int64_t>(1, *std::ranges::max_element(k)); }
  /// The prototypes of all models, each model's padded to a multiple of `group`.
  int64_t padded_clusters(int64_t group) const {
    int64_t all = 0;
    for (const int64_t count : k) all += padded(count, group);
    return all;
  }
  bool tensor_cores() const { return unit != MatrixUnit::kNone; }
  int32_t label_width() const { return max_clusters() <= 256 ? 1 : (max_clusters() <= 65536 ? 2 : 4); }
  /// Labels from model to model: for all rows, and for a slice's rows.
  int64_t label_stride() const { return padded(rows, 128); }
  int64_t slice_stride() const { return padded(slice_rows, 128); }
};

}  // namespace manymeans::cuda
