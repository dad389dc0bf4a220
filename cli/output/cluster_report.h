// A report on the clusters of a model: for people, for spreadsheets, for programs.
#pragma once

#include <manymeans/result.h>
#include <manymeans/summary.h>

#include <string>
#include <vector>

namespace manymeans::cli {

/// A number of each cluster.
struct ClusterColumn {
  std::string name;
  std::vector<double> values;
};

/// A summary, whose it is, and what its columns are called.
struct ClusterReport {
  ModelSummary summary;
  int64_t k = 0;      ///< that was asked for
  int64_t ks = 1;     ///< how many different k there are
  uint64_t seed = 0;  ///< of the model
  std::vector<std::string> columns;
  std::vector<ClusterColumn> more = {};  ///< what else is known of each cluster
};

/// Lines for each of the largest clusters, wrapped at 80 columns, and what is left out.
std::string cluster_table(const ClusterReport& report);

/// A JSON object whose member `summary` is null without a report. Of very many cells it has no whole centroids.
std::string clusters_json(const ClusterReport* report);

/// All clusters and all columns, to a .csv (or a pipe) or a .json.
void write_clusters(const std::string& path, const ClusterReport& report);

}  // namespace manymeans::cli
