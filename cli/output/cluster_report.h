// A report on the clusters of a model: for people, for spreadsheets, for programs.
#pragma once

#include <manymeans/result.h>
#include <manymeans/summary.h>

#include <functional>
#include <span>
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
  std::string group = {};  ///< of rows, where each has a summary
  int64_t k = 0;           ///< that was asked for
  int64_t ks = 1;          ///< how many different k there are
  uint64_t seed = 0;       ///< of the model
  std::vector<std::string> columns;
  std::vector<Trait> traits = {};  ///< of columns that were not fitted
  std::string id_name = {};        ///< of the column that names the rows; empty: they have numbers, from 1
  /// The name of a row of the points, from 0, or its number in the file; none: typical rows are not known.
  std::function<std::string(int64_t)> row_name = {};
  std::vector<ClusterColumn> more = {};  ///< what else is known of each cluster
};

/// A card of each of the largest clusters, in the words of Python's cards(), and what is left out.
std::string cluster_cards(const ClusterReport& report);

/// A line for each cluster with the columns that surprise most: "hr: 4.1, all rows 11.5 (z -50.1)".
std::string profile_table(std::span<const Trait> traits, const ModelResult& model);

/// A JSON object whose member `summary` is null without a report. Of very many cells it has no whole centroids.
std::string clusters_json(const ClusterReport* report);

/// All clusters and all columns, to a .csv (or a pipe) or a .json. Summaries of several groups have the same columns;
/// `group_column` names the first column of the .csv. Without it there is one summary.
void write_clusters(const std::string& path, std::span<const ClusterReport> reports,
                    const std::string& group_column = {});

}  // namespace manymeans::cli
