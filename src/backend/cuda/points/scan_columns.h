// Ranges, lowest bits and moments of the columns of points on a device, as MemorySpace says.
#pragma once

#include <manymeans/points.h>

#include "core/column_scan.h"
#include "core/moments.h"

#include <span>
#include <vector>

namespace manymeans::cuda {

DeviceScan scan_columns(const PointsView& points, std::span<const double> weights);
std::vector<MomentSums> sum_moments(const PointsView& points, std::span<const MomentFormats> formats);

}  // namespace manymeans::cuda
