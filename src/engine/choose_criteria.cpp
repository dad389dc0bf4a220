// The criteria of a choice as a list, with the rules of their votes: a further one is an entry.
#include <manymeans/choose.h>

#include "engine/decide_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans {
namespace {

using All = std::span<const Evidence>;
constexpr int kLargest = 1, kSmallest = -1;  // the better value

// The evidence with the largest value of `sign` times the criterion, the first of equals; none if all are NaN.
const Evidence* best_of(const EvidenceNumber& value, All all, double sign) {
  const Evidence* best = nullptr;
  for (const Evidence& its : all) {
    if (!std::isnan(value.in(its)) && (best == nullptr || sign * value.in(its) > sign * value.in(*best))) best = &its;
  }
  return best;
}

template <int Sign>
std::optional<Vote> vote_of_best(const Criterion& its, All all) {
  const Evidence* best = best_of(its.value, all, Sign);
  if (best == nullptr) return std::nullopt;
  return Vote{its.name, best->k, fmt::format("{:.4g}", its.value.in(*best))};
}

// The smallest k whose gap is the largest one, but for its standard error (globalSEmax of R's clusGap). The rule of the
// paper compares neighbours: on a grid of nine clusters two are no better than one, so that it stops at 1.
std::optional<Vote> vote_of_gap(const Criterion& gap, All all) {
  const Evidence* best = best_of(gap.value, all, kLargest);
  if (best == nullptr) return std::nullopt;
  const double limit = best->gap - best->gap_error;
  const auto first = std::ranges::find_if(all, [&](const Evidence& its) { return its.gap >= limit; });
  if (first->k == best->k) return Vote{gap.name, best->k, fmt::format("{:.4g}, the largest", best->gap)};
  return Vote{gap.name, first->k,
              fmt::format("{:.4g}, at least {:.4g}: the {:.4g} of k = {} less its standard error", first->gap, limit,
                          best->gap, best->k)};
}

// The evidence of the largest k that holds; none if no k does.
template <class Holds>
const Evidence* last_of(All all, Holds&& holds) {
  const Evidence* last = nullptr;
  for (const Evidence& one : all) {
    if (holds(one)) last = &one;
  }
  return last;
}

// The largest k that predicts well (Tibshirani and Walther: 0.8 to 0.9 for clusters that are well apart).
std::optional<Vote> vote_of_strength(const Criterion& strength, All all) {
  const Evidence* last = last_of(
      all, [](const Evidence& its) { return its.prediction_strength + its.prediction_strength_error >= kMinStrength; });
  if (last == nullptr) return std::nullopt;
  const bool alone = last->prediction_strength >= kMinStrength;
  return Vote{strength.name, last->k,
              strength_text(*last, 4) + (alone ? fmt::format(", at least {}", kMinStrength) : "")};
}

std::optional<Vote> vote_of_valley(const Criterion& valley, All all) {
  const Evidence* last = last_of(all, separate);
  if (last == nullptr) return std::nullopt;
  return Vote{valley.name, last->k, fmt::format("{:.4g}, at least {}", last->valley, kMinValley)};
}

// The largest k as stable as the most stable one, but for its standard error.
std::optional<Vote> vote_of_stability(const Criterion& stability, All all) {
  const Evidence* best = best_of(stability.value, all, kLargest);
  if (best == nullptr) return std::nullopt;
  const Evidence* last = best;
  for (const Evidence& its : all) {
    if (its.stability >= best->stability - best->stability_error) last = &its;
  }
  return Vote{stability.name, last->k, fmt::format("{:.4g}", last->stability)};
}

constexpr Criterion kCriteria[] = {
    {"gap",
     "Gap statistic",
     "gap",
     "the smallest k that is as good as the best one, by its standard error",
     "gap",
     {&Evidence::gap},
     {&Evidence::gap_error},
     vote_of_gap},
    {"calinski_harabasz",
     "Calinski-Harabasz",
     "CH",
     "the larger, the better",
     "distances",
     {nullptr, &Criteria::calinski_harabasz},
     {},
     vote_of_best<kLargest>},
    {"davies_bouldin",
     "Davies-Bouldin",
     "DB",
     "the smaller, the better",
     "distances",
     {nullptr, &Criteria::davies_bouldin},
     {},
     vote_of_best<kSmallest>},
    {"bic",
     "BIC",
     "BIC",
     "the smaller, the better",
     "information",
     {nullptr, &Criteria::bic},
     {},
     vote_of_best<kSmallest>},
    {"simplified_silhouette",
     "Simplified silhouette",
     "simple",
     "the larger, the better",
     "distances",
     {nullptr, &Criteria::simplified_silhouette},
     {},
     vote_of_best<kLargest>},
    {"squared_silhouette",
     "Squared silhouette",
     "squared",
     "the larger, the better",
     "distances",
     {nullptr, &Criteria::squared_silhouette},
     {},
     vote_of_best<kLargest>},
    {"silhouette",
     "Silhouette, of a sample",
     "silh.",
     "the larger, the better",
     nullptr,
     {nullptr, &Criteria::silhouette},
     {nullptr, &Criteria::silhouette_error}},
    {"prediction_strength",
     "Prediction strength",
     "predict",
     "the largest k that has 0.8, by its standard error",
     nullptr,
     {&Evidence::prediction_strength},
     {&Evidence::prediction_strength_error},
     vote_of_strength},
    {"stability",
     "Stability",
     "stable",
     "the largest k that is as stable as the most stable one, by its standard error",
     nullptr,
     {&Evidence::stability},
     {&Evidence::stability_error},
     vote_of_stability},
    {"pac",
     "Share of ambiguous pairs (PAC)",
     "PAC",
     "the smaller, the better",
     nullptr,
     {&Evidence::pac},
     {},
     vote_of_best<kSmallest>},
    {"valley",
     "Valley between clusters",
     "valley",
     "the largest k that has 0.7: clusters are apart",
     "valley",
     {&Evidence::valley},
     {&Evidence::valley_error},
     vote_of_valley},
    {"agreement", "Agreement of the best models", "agree", "1: they are the same", nullptr, {&Evidence::agreement}},
};

}  // namespace

std::span<const Criterion> all_criteria() {
  return kCriteria;
}

}  // namespace manymeans
