// How many rows each of several devices gets.
#pragma once

#include "backend/backend.h"
#include "backend/composite/composite_upload.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Where the shares of `rows` rows end, in proportion to `speeds`; one speed must be positive. Shares are whole
/// multiples of 64 rows but for the last one that has any. A share of less than a hundredth of all rows becomes empty.
std::vector<int64_t> share_ends(int64_t rows, std::span<const double> speeds);

/// The rates of one of several devices.
struct DeviceRate {
  double labelled;        ///< rows a second, of those in its memory
  int64_t resident_rows;  ///< that its memory holds
};

/// Numbers in proportion to the rows that the devices label in the same time, which ends when they have labelled
/// `rows`. Meanwhile a device reads the rows that its memory does not hold over a link of `link` rows a second.
std::vector<double> shares_in_time(int64_t rows, std::span<const DeviceRate> devices, double link);

/// Where shares should end by what passes took; empty: where they do. Rows move once the devices have waited for each
/// other as long as moving takes. A useless move then costs at most as much as the waiting before it.
std::vector<int64_t> corrected_ends(const SharedWork& work, std::span<const DeviceRate> devices, double link);

/// Products of a pass of all models, for Backend::min_shared_products().
double products_of_pass(const PointsView& points, const Workload& workload);

/// Measures how many rows each backend labels in a second, by one pass over some of the first rows, on all backends at
/// once. The models have as many clusters as the workload says. The result includes how many rows each backend holds.
std::vector<DeviceRate> measured_rates(std::span<const NamedBackend> backends, const Input& input,
                                       const Workload& workload);

}  // namespace manymeans
