// Rows of two clusterings that have the same names.
#pragma once

#include "fitting/clustering.h"

#include <cstdint>

namespace manymeans::cli {

/// The file that has the rows: `data` where a model labels these, else that of the labels.
const std::string& file_of_rows(const Clustering& clustering, const std::string& data);

/// What was put together by names.
struct JoinedRows {
  int64_t only_a = 0, only_b = 0;  ///< rows that only one of both has
  std::string by = {};             ///< for people: "column 'id'"; empty: both had the same order, or no names
};

/// Leaves of both the rows that both have, in the order of `a`; with the same names in the same order, and where
/// neither has names, nothing changes. Throws Error(kUsage) where only one of them has names, Error(kBadData) for a
/// name that stands twice in one or is empty, and where they have none in common. O(N).
JoinedRows join_rows(Clustering& a, Clustering& b, const std::string& data);

}  // namespace manymeans::cli
