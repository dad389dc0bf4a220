// The subject of a page, looked up once for all of its parts.
#pragma once

#include <manymeans/report.h>
#include <manymeans/summary.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manymeans::report {

/// How much is drawn, so that a page stays small and readable.
inline constexpr size_t kMaxClusters = 40;
inline constexpr size_t kMaxColumns = 40;
inline constexpr int64_t kMaxBandRows = 1000;   ///< of a cluster, for its silhouettes
inline constexpr int64_t kMaxDots = 600;        ///< rows that are drawn themselves
inline constexpr int64_t kMaxCompared = 50000;  ///< rows by which models are compared
inline constexpr size_t kMaxLetters = 22;       ///< of a name

/// Rows that a random number picks, the same for equal points and seeds.
struct RowSample {
  std::vector<int64_t> rows;      ///< ascending
  std::vector<uint32_t> cluster;  ///< of each
};

struct ShownModel {
  explicit ShownModel(const ReportInput& input);

  const ReportInput& input;
  const FitResult& fit;
  const ModelResult& model;
  size_t index;                      ///< of the model in the fit
  std::vector<size_t> clusters;      ///< those that are drawn, the largest first
  std::vector<size_t> rank;          ///< of all clusters: 0 is the largest
  std::vector<double> shares;        ///< of all clusters
  std::vector<std::string> columns;  ///< names of all D; whole and not escaped
  std::vector<std::string> short_names;

  // These describe the points, if they are there.
  std::optional<ModelSummary> summary;
  std::vector<size_t> apart;               ///< columns that are drawn, in their order: those that differ most
  std::vector<std::vector<double>> bands;  ///< silhouettes of drawn clusters, the largest first
  int64_t band_rows = 0;                   ///< most rows of a band
  RowSample dots;
  Matrix dot_values;  ///< their rows, as fitted

  bool has_points() const { return summary.has_value(); }
  int64_t k() const { return model.k; }
  /// "the 40 largest of 1,000 clusters", "all 15 clusters"
  std::string which_clusters() const;
  std::string which_columns() const;
  /// Names of at most kMaxLetters that differ.
  const std::string& short_name(size_t column) const { return short_names[column]; }
  /// Of a model of the fit.
  std::string digest_of(const ModelResult& one) const;
  std::string digest_of_all() const;
  /// The class of a cluster's colour.
  std::string colour(size_t cluster) const;
  /// "log(price), log(1 + visits)"; empty: there are none.
  std::string logs() const;
  /// A sentence about means of logarithms, or nothing.
  std::string about_logs() const;
  std::string units() const;  ///< of centroids: "in original units"
  /// A value of a column as fitted, in the units of its file; of a logarithm it stays one.
  double in_units(double value, size_t column) const;

 private:
  void read_points();
  void choose_columns();
  void find_bands(const std::vector<uint32_t>& labels);
};

/// The centroid of a cluster in a column, in its units.
std::string centroid_text(const ModelSummary& summary, int64_t k, int64_t j);

/// Up to `most` rows of n, spread evenly, and the labels of models there.
std::vector<int64_t> compared_rows(const Labels& labels);
std::vector<int64_t> labels_at(const Labels& labels, const std::vector<int64_t>& rows);
/// The models of this k that have labels, the best first.
std::vector<const ModelResult*> begun_models(const FitResult& fit, int64_t k);
/// The best model of each k that has one with labels, ascending.
std::vector<const ModelResult*> best_models(const FitResult& fit);

}  // namespace manymeans::report
