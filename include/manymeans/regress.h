// Regression clustering: k linear models instead of k centroids. A row is D features x and a target y. It belongs to
// the model that predicts its target best. A model is the least squares of its rows.
#pragma once

#include <manymeans/fit.h>
#include <manymeans/names.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Most features D that regress() takes: a row adds about D^2 terms to the sums of its cluster.
constexpr int64_t kMaxFeatures = 256;

/// All options of regress(): the options of fit(), some with other defaults, and its own.
///
/// init: auto, random-subsets, kmeans or kmeans-x; auto is random-subsets. Given models: FitHooks::initial, K x (D +
/// 1).
/// - random-subsets: each model is the least squares of D + 1 random rows.
/// - kmeans: the least squares of each cluster of a k-means fit of the rows [x, y].
/// - kmeans-x: the same with a fit of the rows x, which it copies.
///
/// stop: strict by default. `tol` and `shift` measure coefficients, so they depend on the features' units.
///
/// max_iter: counts all updates of a model, including the updates of its swap search.
///
/// empty: `farthest` re-seeds an empty cluster from the largest squared residual.
///
/// algorithm: auto, or what the backend has for linear models.
struct RegressOptions : FitOptions {
  RegressOptions() {
    stop = "strict";
    max_iter = 3000;
  }

  double ridge = 0;       ///< each centred sum of squares of a feature grows by this share of itself; 0: least squares
  bool intercept = true;  ///< false: the models go through the origin
  int64_t swaps = 10;     ///< the swap search of a model ends after this number of failures in a row; 0: no search
};

/// Calls visit(info, member) for every option of regress(), in the order of --help. The options of fit() come first,
/// with the help texts that hold for linear models. `Options` is RegressOptions or const RegressOptions.
template <class Options, class Visitor>
void for_each_regress_option(Options& options, Visitor&& visit) {
  for_each_option(options, [&](OptionInfo info, auto& value) {
    const std::string_view name = info.name;
    if (name == "metric" || name == "min_size" || name == "max_size") return;  // of centroids
    if (name == "k")
      info.help = "Number of linear models: 8, a list 8,16,32, a range 2..20, or one with a step 2..20:2.";
    if (name == "models") info.help = "Fits for each k, from different seeds; the best by error is marked.";
    if (name == "init") {
      info.help =
          "auto, random-subsets (auto: each model from D + 1 random rows), kmeans (the clusters of a k-means fit of "
          "features and target), kmeans-x (of features alone), or a file: k rows of coefficients and an intercept for "
          "each model, or a model .npz, whose k and models the fit has.";
    }
    if (name == "max_iter") info.help = "Most updates of the models of a fit, its swap search included.";
    if (name == "tol") {
      info.help =
          "With the stop rule tol: stop when the squared change of all coefficients is at most NUMBER times the mean "
          "variance of the columns; it depends on the columns' units.";
    }
    if (name == "algorithm") {
      info.help =
          "How labels are found: auto (a screen where the backend has one, each label proved or resolved) or brute "
          "(exact residuals only). Never changes the answer.";
    }
    visit(info, value);
  });
  visit(OptionInfo{"ridge", "--ridge", "SHARE",
                   "Ridge: each feature's centred sum of squares grows by this share of itself; 0: least squares."},
        options.ridge);
  visit(OptionInfo{"intercept", "--intercept", "BOOL", "Whether models have an intercept: true or false."},
        options.intercept);
  visit(OptionInfo{"swaps", "--swaps", "COUNT",
                   "Swap search: the least useful linear model is replaced by the best of 16 candidates, until COUNT "
                   "trials in a row did not lower the error; 0: no search. Part of the answer."},
        options.swaps);
}

/// Throws Error(kUsage) unless every option is in its range and the options agree with each other.
void check(const RegressOptions& options);

/// Features were made of those that people know by (x - offset) / divisor.
struct FeatureUnits {
  std::vector<double> offset = {}, divisor = {};  ///< empty: they are the same; else D values or more
};

/// Rows of [x, y]: D features and, as the last column, the target.
class RegressionRows {
 public:
  /// Column `target` of the points, counted from 0, is the target; -1 is the last. If it is the last, nothing is
  /// copied, and the points' memory must outlive this. Else the rows are copied once, in their own type. Throws
  /// Error(kUsage) for a column that does not exist, kBadData if there is no other column.
  /// `units`: what RegressionSummary::standard_errors is told in.
  static RegressionRows with_target(const PointsView& points, int64_t target = -1, FeatureUnits units = {});
  /// Features (N x D) and target (N x 1) that lie apart: copied once, in their own type where both have the same, else
  /// as float64. Throws Error(kBadData) when the rows differ or y has several columns.
  static RegressionRows joined(const PointsView& x, const PointsView& y);

  const PointsView& view() const { return view_; }  ///< N x (D + 1)
  int64_t features() const { return view_.d - 1; }
  const FeatureUnits& units() const { return units_; }

 private:
  PointsView view_;
  FeatureUnits units_;
  std::shared_ptr<const std::byte[]> copy_;  // null where the view is of the caller's memory
};

/// Where the rows of each cluster lie: what it takes to choose a model for features whose target is not known.
struct RegressionGate {
  Matrix means;  ///< K x D, float64: the weighted mean of the features of a cluster's rows; 0 if it has none
  std::vector<double> scales;   ///< D: the weighted deviation of a feature over all rows; 1 where it is constant
  std::vector<double> weights;  ///< K: the weight of each cluster
};

/// How well the model of one cluster fits the rows of the cluster. NaN in a cluster without weight.
struct LinearCluster {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double r2 = kNone;           ///< as of all rows, within the cluster; NaN where its target is constant
  double deviation = kNone;    ///< the root of the weighted mean squared residual
  double target_mean = kNone;  ///< weighted
};

/// Facts about one model of a RegressResult, in addition to its ModelResult.
struct RegressionSummary {
  /// 1 - (sum of squared residuals) / (weighted sum of squares of the target around its mean). Where the target is
  /// constant: 1 without residuals, else 0. NaN where it is not constant and that sum underflows to 0.
  double r2 = 0;
  /// n (ln(2 pi s / n) + 1) + p ln n: the Bayesian information criterion of Gaussian residuals. The sum of their
  /// weighted squares is s, the sum of all weights n. Coefficients, intercepts and shares of the clusters count p = K
  /// (D + 2) - 1 (K (D + 1) - 1 without intercepts). The lowest is best; minus infinity where s = 0, NaN where r2 is
  /// NaN.
  double bic = 0;
  RegressionGate gate;
  /// The features (from 0) of each cluster that have no coefficient of their own. Such a feature is constant in the
  /// cluster, or a combination of features before it, or the cluster has too few rows. If a coefficient or the
  /// intercept would be above 2^500 (in float32: above its largest value), only the mean of the target is left.
  std::vector<std::vector<int64_t>> left_out;
  std::vector<LinearCluster> clusters = {};
  /// Of all clusters.
  std::vector<double> cluster_r2() const {
    std::vector<double> values;
    for (const LinearCluster& cluster : clusters) values.push_back(cluster.r2);
    return values;
  }
  /// K x (D + 1), float64: of the coefficients and last of the intercept, in RegressionRows::units(). An error is
  /// sqrt(s / (n - p) (X^T W X)^-1_jj), as for least squares in the cluster. s is the sum of the cluster's weighted
  /// squared residuals, n its weight, and p the number of its coefficients that are not left out. Errors take the
  /// cluster as given, so they are too small where clusters overlap. NaN for what is left out, for n <= p, and with a
  /// ridge.
  Matrix standard_errors = {};
};

/// What the features of a row become before they go into linear models: <manymeans/terms.h>.
struct Terms {
  int64_t degree = 1;    ///< 1: features alone; 2: squares and products, too
  bool products = true;  ///< of degree 2: false leaves out products of different features

  bool operator==(const Terms&) const = default;
};

/// Models of an ensemble and their summaries, in the same order.
struct RegressResult {
  /// Prototypes are K x (D + 1): D coefficients and the intercept. `inertia` is the weighted sum of squared residuals.
  /// Digests are computed in the same way as for centroids. The provenance's options are those that fit() has, too.
  FitResult fit;
  std::vector<RegressionSummary> summaries;
  RegressOptions options;  ///< as given
  Terms terms = {};        ///< set by the caller whose features are terms, for save_model()
};

/// Fits options.models sets of k linear models for every k in options.k to the same rows.
///
/// Models are float64 for float64 rows, else they are rounded to float32. For columns that lie far from zero relative
/// to their spread, float32 does not hold the least squares. Take float64 rows for those.
///
/// weights  empty, or N non-negative weights. A weight of 2 is the row twice, bit for bit, if no row is drawn or moved
///          alone. That requires given models, no swaps, and no cluster that `farthest` re-seeds. Other weights are as
///          many rows up to rounding.
/// With hooks.comm, each rank passes its own rows and weights, as for fit(). All ranks get the same models, summaries
/// and warnings, and the labels of their own rows.
/// Returns the same bits for any thread count, instruction set, backend, strategy, algorithm and number of ranks.
/// Warnings name the columns that no model can use, and the first cluster of fewer than D + 1 rows or without a
/// coefficient for another column, with the number of such clusters. Others say that the target is
/// constant, or that all rows are equal. One names a column without a magnitude above 2^-400, whose squares underflow:
/// scale it up, since it takes part as it is. Throws Error: kUsage (options, an initialisation for centroids, D above
/// kMaxFeatures, fewer rows than coefficients), kBadData (NaN, infinity, weights, magnitudes above 2^500), kUnavailable
/// (memory, backend). With a checkpoint it throws as fit() does. Time O(iterations N D (sum K + D)) with exact sums of
/// D^2 terms; memory as fit() with D^2 terms a cluster.
RegressResult regress(const RegressionRows& rows, std::span<const double> weights, const RegressOptions& options,
                      const FitHooks& hooks = {});

/// The model of every row whose target is known: the one with the least squared residual, ties to the lowest index.
/// `models` are K x (D + 1). Distances are |residual|; the inertia is the weighted sum of squared residuals.
/// Throws Error(kBadData) when the columns differ or values are not finite.
Prediction regress_labels(const RegressionRows& rows, const PointsView& models, const PredictOptions& options = {});

/// How the target of new features is predicted, where no target says which model is the right one.
enum class Gating : uint8_t {
  kNearest,  ///< by the model of the cluster whose mean is nearest in scaled features: clusters that lie apart
  kPrior,    ///< by the mean of all models, weighted by their clusters: clusters that overlap everywhere
  kColumns,  ///< by every model; the caller chooses
};
template <>
std::span<const std::string_view> names_of<Gating>();

/// Predicted targets of features x (N x D): N x 1, or N x K for kColumns; float64. A model's prediction is the
/// contract's RN(s + b_0). `nearest`: the lowest k of least sum of ((x_j - mean_kj) / scale_j)^2, j ascending, of the
/// clusters that weigh something. `prior`: the sum over k ascending of RN(w_k / sum of w) times the prediction. Throws
/// Error(kBadData) when columns or clusters do not agree or values are not finite. Time O(N D K).
Matrix regress_predict(const PointsView& x, const PointsView& models, const RegressionGate& gate, Gating gating,
                       const PredictOptions& options = {});

/// R2 of rows that were held out, as RegressionSummary::r2 has it: 1 - (weighted sum of squared errors) / (weighted sum
/// of squares of the target around its mean). Below 0 where the mean predicts better.
struct HeldOutR2 {
  double nearest = 0, prior = 0;  ///< by Gating
};

/// Cross-validated R2 of the best model of each of options.k. Row i is held out in fold floor(u folds / 2^64), where u
/// is the contract's random number of options.seed, index i, draw 0 and purpose 22. For each fold, regress() fits the
/// other rows with these options. The features of a row held out, never its target, say which model predicts it
/// (Gating), by the means and deviations of the other rows. All errors go into one sum. NaN if a fit was stopped, or
/// the target is constant. Throws as regress(), and Error(kUsage) for fewer than 2 folds, more folds than rows,
/// hooks.comm and hooks.initial. Takes the time of `folds` fits and the memory of a copy of the rows.
std::vector<HeldOutR2> cross_validate(const RegressionRows& rows, std::span<const double> weights,
                                      const RegressOptions& options, int64_t folds, const FitHooks& hooks = {});

}  // namespace manymeans
