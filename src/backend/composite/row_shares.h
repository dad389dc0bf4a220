// How many rows each of several devices gets.
#pragma once

#include "backend/backend.h"
#include "backend/composite/composite_upload.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans {

/// Where the shares of `rows` rows end, in proportion to `speeds`, of which one is positive. Shares are whole multiples
/// of 64 rows but for the last one that has any; one that would be less than a hundredth of all rows gets none.
std::vector<int64_t> share_ends(int64_t rows, std::span<const double> speeds);

/// What one of several devices can do with rows.
struct DeviceRate {
  double labelled;        ///< rows a second, of those in its memory
  int64_t resident_rows;  ///< that its memory holds
};

/// Numbers in proportion to the rows that the devices label in the same time, which ends when they have labelled
/// `rows`. A device reads what its memory does not hold over a link of so many rows a second, meanwhile.
std::vector<double> shares_in_time(int64_t rows, std::span<const DeviceRate> devices, double link);

/// Where shares should end by what passes took; empty: where they do. Rows move when the devices have waited for each
/// other for as long as moving takes, so that a move in vain costs no more than what led to it.
std::vector<int64_t> corrected_ends(const SharedWork& work, std::span<const DeviceRate> devices, double link);

/// Products of a pass of all models, for Backend::min_shared_products().
double products_of_pass(const PointsView& points, const Workload& workload);

/// What each backend labels in a second, by one pass over some of the first rows, on all backends at a time (the models
/// have as many clusters as the workload says), and what it holds.
std::vector<DeviceRate> measured_rates(std::span<const NamedBackend> backends, const Input& input,
                                       const Workload& workload);

}  // namespace manymeans
