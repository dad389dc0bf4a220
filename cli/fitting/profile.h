// Columns that were not fitted, and what clusters are like in them: --profile.
#pragma once

#include <manymeans/result.h>

#include "fitting/fit_job.h"
#include "output/cluster_report.h"

#include <string>
#include <vector>

namespace manymeans::cli {

/// A column of numbers, or of 0 and 1 for one of the texts of a column.
struct ProfileColumn {
  std::string name;  ///< "income", "kind=a"
  bool is_text = false;
  std::vector<double> values = {};  ///< one for each row of the points; NaN for a gap
};

/// Reads these columns of DATA for the rows of the points. An entry of `columns` may be a range. Throws as reading
/// does.
std::vector<ProfileColumn> read_profile(const FitJob& job, const JobPoints& points,
                                        const std::vector<std::string>& columns);

/// A column in each cluster. Gaps are left out; means are by weight.
struct ProfileTrait {
  std::string name;
  bool is_text;
  double overall;             ///< mean of all rows
  std::vector<double> means;  ///< of each cluster; NaN where it has no rows
  /// (m_k - m) / sqrt(s^2 / n_k (n - n_k) / (n - 1)): each row counts once. NaN where a cluster has no rows.
  std::vector<double> z;
};
std::vector<ProfileTrait> profile_traits(const std::vector<ProfileColumn>& columns, const JobPoints& points,
                                         const ModelResult& model);

/// "name (mean)" or "name=value" and "name=value (lift)", then "name (z)", as Python's summary() names them.
std::vector<ClusterColumn> columns_of(const std::vector<ProfileTrait>& traits);

/// A line for each cluster with the most surprising columns: "hr: 4.1, all rows 11.5 (z -50.1)".
std::string profile_table(const std::vector<ProfileTrait>& traits, const ModelResult& model);

}  // namespace manymeans::cli
