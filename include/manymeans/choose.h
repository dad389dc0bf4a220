// Choosing the number of clusters, with the evidence.
#pragma once

#include <manymeans/criteria.h>
#include <manymeans/fit.h>
#include <manymeans/names.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

struct ChooseOptions {
  /// k: the numbers to choose from, none above N (1 is fitted, too). models: of each k. time_limit: of all.
  FitOptions fit = {.k = parse_k_list("2..20"), .models = 10};
  int64_t references = 10;  ///< data sets without clusters, for the gap statistic; 0: no gap
  int64_t bootstraps = 20;  ///< members that see a part of the rows, for stability; an even number; 0: no k is clear
  int64_t sample = 1000;    ///< rows of the silhouette, as CriteriaOptions::sample
  std::vector<std::string> column_names = {};  ///< for the reason; without, columns have numbers from 1
};

/// The evidence for or against one k, from its best model by inertia.
struct Evidence {
  int64_t k = 0;
  uint64_t model_seed = 0;  ///< FitOptions::model_seed fits this model alone
  double inertia = 0;
  Criteria criteria;
  /// The mean log inertia of reference data minus the log inertia of the points (Tibshirani, Walther and Hastie 2001).
  /// gap_error: its standard error, sd sqrt(1 + 1 / references). NaN without references, and where an inertia is 0.
  double gap = Criteria::kUndefined;
  double gap_error = Criteria::kUndefined;
  /// The mean adjusted Rand index between the labels of the best model and of the next best, at most five; NaN of one.
  double agreement = Criteria::kUndefined;
  /// Of pairs of members that see different rows, means over the pairs, and their standard errors; NaN without, and for
  /// more clusters than members see different rows. Prediction strength (Tibshirani and Walther 2005) is a minimum over
  /// the clusters of one member's rows. Its values are the shares of pairs of rows that the other member has in one
  /// cluster, too. It is 1 for k = 1.
  double prediction_strength = Criteria::kUndefined;
  double prediction_strength_error = Criteria::kUndefined;
  /// The adjusted Rand index of both members' labels of the rows that either sees.
  double stability = Criteria::kUndefined;
  double stability_error = Criteria::kUndefined;
  /// The share of ambiguous pairs among 10,000 pairs of rows. More than a tenth and fewer than nine tenths of all these
  /// members join an ambiguous pair (PAC; Senbabaoglu, Michailidis and Li 2014). The smaller, the better.
  double pac = Criteria::kUndefined;
  /// How clearly clusters are apart: by how many standard deviations rows are missing where the worst cluster of a
  /// member meets its neighbours. Rows are from the other member. At a cut through one group it is about 0.
  double valley = Criteria::kUndefined;
  double valley_error = Criteria::kUndefined;
};

/// The choice of one criterion.
struct Vote {
  std::string criterion;
  int64_t k = 0;
  std::string reason;
};

/// A number of an Evidence, or of the Criteria in it. `in` requires one of the two.
struct EvidenceNumber {
  double Evidence::*of_k = nullptr;
  double Criteria::*of_labels = nullptr;

  bool exists() const { return of_k != nullptr || of_labels != nullptr; }
  double in(const Evidence& its) const { return of_k != nullptr ? its.*of_k : its.criteria.*of_labels; }
  double& in(Evidence& its) const { return of_k != nullptr ? its.*of_k : its.criteria.*of_labels; }
};

/// A criterion by which a k is chosen: its texts, its numbers, and the rule of its vote.
struct Criterion {
  const char* name;     ///< as in Vote, and in JSON and Python, where the error is called NAME_error
  const char* title;    ///< for a chart
  const char* heading;  ///< short, for a column of a table
  const char* meaning;  ///< which values are good ones
  const char* family;   ///< criteria that have one vote together; null: no vote for the answer
  EvidenceNumber value;
  EvidenceNumber error = {};  ///< half the width of a band, for a criterion that has errors
  /// Returns its vote, none where it is undefined. Null: the criterion has no vote.
  std::optional<Vote> (*vote)(const Criterion& its, std::span<const Evidence> all) = nullptr;
};

/// Returns all criteria, in the order of tables.
std::span<const Criterion> all_criteria();

/// The kinds of answers.
enum class ChoiceStatus {
  kFirm,     ///< one k
  kSeveral,  ///< a few k that can be defended
  kUnclear,  ///< no clear k
  kOne,      ///< one group, without clusters
};

template <>
std::span<const std::string_view> names_of<ChoiceStatus>();

/// A k that can be defended.
struct DefensibleK {
  int64_t k = 0;
  std::string meaning;  ///< what its clusters are
};

struct ChosenK {
  ChoiceStatus status = ChoiceStatus::kUnclear;
  int64_t k = 0;                        ///< to use; whether it is the answer says `status`
  std::string answer;                   ///< "k = 3", "k = 2 or 3", "no clear k", "one group"
  std::string reason;                   ///< a sentence
  std::vector<DefensibleK> defensible;  ///< of kFirm and kSeveral
  std::vector<Vote> votes;              ///< of each criterion that is defined, among all k
  std::vector<Evidence> evidence;       ///< for k = 1 and each k to choose from, ascending
  FitResult fit;                        ///< the ensemble that was judged
  std::vector<std::string> warnings;
  bool interrupted = false;  ///< a time limit, a callback or a signal ended it early; the finished part was judged
  /// Criteria that were asked for, and not made for that reason, by their names: silhouette, gap, prediction_strength,
  /// stability, pac, valley. One of the warnings has them, too.
  std::vector<std::string> left_out;
};

/// Fits an ensemble of all k and judges the best model of each.
///
/// Clusters return in other rows if the prediction strength is 0.8 or more, and the stability 0.85, each with its
/// standard error. Clusters are separate if the valley is 0.7 or more. Candidates are all k with clusters that return
/// and are separate. If there is none, they are all k with clusters that return. Slices of a long tail return, too, so
/// there are no such candidates if a tenth of the columns is skewed. Families of criteria vote among the candidates,
/// each once:
///
/// - distances: Calinski-Harabasz, Davies-Bouldin, simplified and squared silhouette. Their most frequent k counts.
/// - gap: the smallest k whose gap is within the standard error of the largest gap.
/// - information: BIC.
/// - valley: the largest k with separate clusters.
///
/// The answer is kFirm if all families choose one k with separate clusters. Else it is kSeveral: each k that a family
/// chooses, and 1 if none is separate. Without candidates the answer is kOne or kUnclear. kOne needs
/// 100 rows or more, no k that returns, and a valley below 0.5 for every k. Without bootstraps there are no candidates:
/// kUnclear.
///
/// `k` is always usable. Of kSeveral it is the k that most families choose, the smallest of equals. Of kUnclear it is 1
/// if the gap chooses 1, else the k that most families choose among all k. Skewed columns and outliers are part of the
/// reason if the answer is not firm. Warnings name clusters of one row, and a k at the end of the range.
///
/// Reference data are uniform in the box of the columns' values:
///
///     x_ij = fl_T(RN(min_j + RN(RN(max_j - min_j) * RN(u) * 2^-64)))
///
/// with u(key = seed, index = i D + j, draw = number of the data set, purpose 17). They have N rows, but at most n =
/// 32,768 (or the largest k). Then log(N / n) is added to log inertias. A tenth of the models is fitted to each, at
/// least one of each k, with the options of the fit. The answer is a function of points, options and seed.
///
/// Under Metric::kCosine the criteria of labels judge the rows scaled to length one. Reference data point
/// everywhere alike: x_ij = 2 s - 2039, with s the sum of the eight bytes of u. These are nearly normal and never zero.
///
/// Members for the stability come in pairs. The random number of a row (contract, "Stability") puts it into the first
/// or the second member of pair p, or into none. The chance of either is 1/2, or 1/4, 1/8, ... where a member would
/// have more than 32,768 rows. A member is the best of a third of the models, fitted to its rows alone; others' rows
/// get the nearest of its prototypes.
///
/// The time limit of the fit is for all of this. After it the fit at work ends, but the first fit completes one pass of
/// its first model. Incomplete criteria are left out: first the stability, then the gap, then the silhouette. The
/// criteria of the labels of each k are always computed, in the time of some passes.
///
/// Time: the fit, as much again for every ten references, and criteria() for every k. Twenty members take as long as
/// seven fits of all rows, or of 32,768 rows if there are more. The distances of the silhouette's sample are computed
/// once for all k. Memory: the memory of the fit, and one set of reference data, or the rows of two members, or 70 MB
/// of sums of distances. Metric::kCosine also needs the scaled rows. Throws what fit() throws; Error(kInterrupted) if
/// it was stopped before two numbers of clusters had a model; Error(kUsage) for a `model_seed`, which names one model,
/// and for ranks, which criteria do not support.
ChosenK choose_k(const PointsView& points, const ChooseOptions& options, const FitHooks& hooks = {});

}  // namespace manymeans
