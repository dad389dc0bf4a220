// A page about a result: one file of HTML that needs nothing but a browser.
#pragma once

#include <manymeans/choose.h>
#include <manymeans/io.h>
#include <manymeans/points.h>
#include <manymeans/result.h>
#include <manymeans/search.h>
#include <manymeans/summary.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// The values of one criterion for every k, for tables and charts.
struct CriterionSeries {
  std::string name;                 ///< as in Vote
  std::string title;                ///< for a chart
  std::string heading;              ///< short, for a column of a table
  std::string meaning;              ///< which values are good ones
  std::vector<double> values;       ///< one for each evidence; NaN where it is undefined
  std::vector<double> errors = {};  ///< for a criterion that has errors: half the width of a band
  int64_t vote = 0;                 ///< the k that it chooses; 0: it has no vote
  std::string reason = {};          ///< of the vote
};
/// All criteria of a choice, in the order of tables.
std::vector<CriterionSeries> criterion_series(const ChosenK& chosen);

struct RegressResult;
struct TreeOptions;

/// The contents of a page. Whatever is left out costs the parts that need it, and nothing else.
struct ReportInput {
  std::string name = {};                         ///< what was clustered: a file, usually
  const FitResult* fit = nullptr;                ///< required
  std::span<const std::string> digests = {};     ///< of its models, where they are known already
  int64_t k = 0;                                 ///< whose best model is shown; 0: the chosen k, else the first one
  std::span<const SearchSummary> searches = {};  ///< of each of its models, where they were searched for
  const ChosenK* chosen = nullptr;               ///< where k was chosen, by `fit`
  const RegressResult* regression = nullptr;  ///< of a fit of linear models, which `fit` is a part of; no points then
  const TreeOptions* tree = nullptr;          ///< of the tree whose leaves `fit` has
  std::string tree_digest = {};               ///< of this tree
  PointsView points = {};                     ///< as they were fitted: after scaling
  std::span<const double> weights = {};       ///< of the fit
  Scaling scaling = {};                       ///< of the points, which numbers of columns are told without
  std::span<const std::string> column_names = {};  ///< empty, or D
  std::span<const Trait> traits = {};              ///< of the shown model, by columns that were not fitted
  /// The name of a row of the points, from 0; none: rows have numbers from 0.
  std::function<std::string(int64_t)> row_name = {};
  int threads = 0;    ///< never changes a byte
  bool times = true;  ///< whether seconds are told, which differ between equal results
  bool whole = true;  ///< a page of its own; else a part of one, for notebooks
};

/// The page, in UTF-8, of less than two megabytes: charts as SVG, light or dark as the reader has it, readable without
/// JavaScript. Of more clusters, columns, models and rows than it can show it says which ones it shows. Equal results
/// give equal bytes, except for times. Reads the points three times at most, in addition to sampled rows.
///
/// Throws Error(kUsage) without a model that has begun, and for models that are not of the points.
std::string html_report(const ReportInput& input);

}  // namespace manymeans
