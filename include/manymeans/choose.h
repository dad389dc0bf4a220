// Choosing the number of clusters, with the evidence.
#pragma once

#include <manymeans/criteria.h>
#include <manymeans/fit.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans {

struct ChooseOptions {
  /// k: those to choose from (1 is fitted beside them), none above N; models: of each; time_limit: of all.
  FitOptions fit = {.k = parse_k_list("2..20"), .models = 10};
  int64_t references = 10;  ///< data sets without clusters, for the gap statistic; 0: no gap, and no test for k = 1
  int64_t bootstraps = 20;  ///< members that see a part of the rows, for stability; an even number; 0: none
  int64_t sample = 1000;    ///< rows of the silhouette, as CriteriaOptions::sample
};

/// What speaks for or against one k: of its best model, by inertia.
struct Evidence {
  int64_t k = 0;
  uint64_t model_seed = 0;  ///< FitOptions::model_seed fits this model alone
  double inertia = 0;
  Criteria criteria;
  /// The mean over reference data of log inertia, minus that of the points (Tibshirani, Walther and Hastie 2001), and
  /// its standard error, sd sqrt(1 + 1 / references). NaN without references, and where an inertia is 0.
  double gap = Criteria::kUndefined;
  double gap_error = Criteria::kUndefined;
  /// The mean adjusted Rand index between the labels of the best model and of the next best, at most five; NaN of one.
  double agreement = Criteria::kUndefined;
  /// Of pairs of members that see different rows, means over the pairs, and their standard errors; NaN without, and for
  /// more clusters than members see different rows. Prediction strength (Tibshirani and Walther 2005): the least, over
  /// the clusters of one member's rows, of the share of the pairs of rows that the other one has in one cluster, too; 1
  /// for k = 1.
  double prediction_strength = Criteria::kUndefined;
  double prediction_strength_error = Criteria::kUndefined;
  /// The adjusted Rand index of both members' labels of the rows that either sees.
  double stability = Criteria::kUndefined;
  double stability_error = Criteria::kUndefined;
  /// The share of ambiguous pairs among 10,000 pairs of rows: those that more than a tenth and fewer than nine tenths
  /// of all these members put into one cluster (PAC; Senbabaoglu, Michailidis and Li 2014). The smaller, the better.
  double pac = Criteria::kUndefined;
};

/// What one criterion chooses.
struct Vote {
  std::string criterion;
  int64_t k = 0;
  std::string reason;
};

struct ChosenK {
  int64_t k = 0;
  std::string reason;              ///< a sentence
  std::vector<Vote> votes;         ///< of each criterion that is defined
  std::vector<Evidence> evidence;  ///< for k = 1 and each k to choose from, ascending
  FitResult fit;                   ///< the ensemble that was judged
  std::vector<std::string> warnings;
  bool interrupted = false;  ///< a time limit, a callback or a signal ended it early: what there is was judged
  /// Criteria that were asked for, and not made for that reason, by their names: silhouette, gap, prediction_strength,
  /// stability, pac. One of the warnings has them, too.
  std::vector<std::string> left_out;
};

/// Fits an ensemble of all k and judges the best model of each.
///
/// 1 is the answer where the gap statistic cannot tell the points from data without clusters: where no k has a gap more
/// than four standard errors above that of 1. Else the answer is the k with most votes of the gap (the least k whose
/// gap is at least that of the next one minus its standard error), Calinski-Harabasz, Davies-Bouldin, BIC, the
/// simplified and the squared silhouette, the prediction strength (the largest k whose strength and standard error are
/// 0.8 or more together), the stability (the largest k that is no farther from the highest than that one's standard
/// error) and PAC; the least of equals. No criterion is right alone, and the votes say how far they agree.
///
/// Reference data are uniform in the box of the columns' values: x_ij = fl_T(RN(min_j + RN(RN(max_j - min_j) * RN(u) *
/// 2^-64))), u(key = seed, index = i D + j, draw = number of the data set, purpose 17), of N rows, but no more than n =
/// 32,768 (or the largest k): then log(N / n) is added to log inertias. A tenth of the models is fitted to each, at
/// least one of each k, with the options of the fit. The answer is a function of points, options and seed.
///
/// Members for the stability come in pairs. A row belongs to the first or the second member of pair p, or to none, by
/// its random number (contract, "Stability"): to either with a chance of 1/2, or 1/4, 1/8, ... where that would be more
/// than 32,768 rows. A member is the best of a third of the models, fitted to its rows alone; others' rows get the
/// nearest of its prototypes.
///
/// The time limit of the fit is for all of this. When it is used up, the fit at work ends (the first of all not before
/// its first model has had a pass), and of the criteria those are left out that are not complete: first the stability,
/// then the gap, then the silhouette. Those of the labels of each k are made in any case, in the time of some passes.
///
/// Time: that of the fit, about as much for every ten references, for twenty members as much as for seven fits of all
/// rows, but no more than of 32,768, and criteria() for every k, but for the silhouette: distances of its sample are
/// computed once for all k. Memory: that of the fit and one set of reference data, or the rows of two members, or 70 MB
/// of sums of distances. Throws what fit() throws; Error(kInterrupted) if it was stopped before two numbers of clusters
/// had a model; Error(kUsage) for a `model_seed`, which would be that of
/// one model, and for weights and ranks, which criteria know nothing of.
ChosenK choose_k(const PointsView& points, const ChooseOptions& options, const FitHooks& hooks = {});

}  // namespace manymeans
