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

/// Products of a pass of all models, for Backend::least_shared_products().
double products_of_pass(const Input& input, const Workload& workload);

/// Rows that each backend labels in a second, by one pass over some of the first rows, on all backends at a time. The
/// models have as many clusters as the workload says.
std::vector<double> measured_speeds(std::span<const NamedBackend> backends, const Input& input,
                                    const Workload& workload);

}  // namespace manymeans
