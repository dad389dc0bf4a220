// The rows of a fit that other processes have, as the one sees them that fits: it has their number, and their weights.
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
  /// What gather_rows() gives of them.
  virtual Matrix gather(std::span<const int64_t> rows) = 0;
  /// What column_moments() is made of.
  virtual std::vector<MomentSums> sum_moments(const std::vector<MomentFormats>& formats) = 0;
};

}  // namespace manymeans
