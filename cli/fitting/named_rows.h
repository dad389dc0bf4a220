// Rows of two clusterings that have the same names.
#pragma once

#include "fitting/clustering.h"

#include <cstdint>

namespace manymeans::cli {

/// The file that has the rows: `data` where a model labels these, else that of the labels.
const std::string& file_of_rows(const Clustering& clustering, const std::string& data);

/// How many rows only one of two has.
struct RowsOfOne {
  int64_t a = 0, b = 0;
};

/// Leaves of both the rows that both have, in the order of `a`; with the same names in the same order, and where
/// neither has names, nothing changes. Throws Error(kUsage) where only one of them has names, Error(kBadData) for a
/// name that stands twice in one, and where they have none in common. O(N).
RowsOfOne join_rows(Clustering& a, Clustering& b, const std::string& data);

}  // namespace manymeans::cli
