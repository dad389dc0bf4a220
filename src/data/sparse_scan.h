// One reading of the columns of sparse points, zeros included; data/input.h has dense ones.
#pragma once

#include <manymeans/sparse.h>

#include "core/column_scan.h"
#include "core/moments.h"

#include <span>
#include <vector>

namespace manymeans {

DeviceScan scan_sparse_columns(const SparseView& view, std::span<const double> weights);
std::vector<MomentSums> sum_sparse_moments(const SparseView& view, std::span<const MomentFormats> formats);

}  // namespace manymeans
