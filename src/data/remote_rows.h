// The rows that other processes hold, as seen by the process that fits. It knows the number of rows and their weights.
// Values are fetched on request.
#pragma once

#include <manymeans/points.h>

#include "core/moments.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

class RemoteRows {
 public:
  virtual ~RemoteRows() = default;
  /// Returns these rows as gather_rows() does.
  virtual Matrix gather(std::span<const int64_t> rows) = 0;
  /// The sums from which column_moments() computes.
  virtual std::vector<MomentSums> sum_moments(const std::vector<MomentFormats>& formats) = 0;
};

}  // namespace manymeans
