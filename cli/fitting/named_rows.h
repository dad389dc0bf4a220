// Rows of two clusterings that have the same names.
#pragma once

#include "fitting/clustering.h"

#include <cstdint>

namespace manymeans::cli {

/// The file that has the rows: `data` if a model labels its rows, else the file of the labels.
const std::string& file_of_rows(const Clustering& clustering, const std::string& data);

/// The result of a join by names.
struct JoinedRows {
  int64_t only_a = 0, only_b = 0;  ///< rows that only one of both has
  std::string by = {};             ///< for people: "column 'id'"; empty: both had the same order, or no names
};

/// Leaves of both the rows that both have, in the order of `a`; with the same names in the same order, and where
/// neither has names, nothing changes. Throws Error(kUsage) if only one of them has names. Throws Error(kBadData) for a
/// name that is empty or appears twice in one, and if they have no names in common. O(N).
JoinedRows join_rows(Clustering& a, Clustering& b, const std::string& data);

}  // namespace manymeans::cli
