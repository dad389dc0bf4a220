// The criteria of a choice as a list, with the rules of their votes: a further one is an entry.
#include <manymeans/choose.h>

#include <fmt/format.h>

#include <cmath>

namespace manymeans {
namespace {

using All = std::span<const Evidence>;
constexpr int kLargest = 1, kSmallest = -1;  // the better value

// The minimum k whose gap is at least the gap of the next one, minus the standard error of the next one.
std::optional<Vote> vote_of_gap(const Criterion& gap, All all) {
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    const Evidence& next = all[i + 1];
    if (std::isnan(all[i].gap) || std::isnan(next.gap)) return std::nullopt;
    if (all[i].gap < next.gap - next.gap_error) continue;
    return Vote{gap.name, all[i].k,
                fmt::format("{:.4g}, and {:.4g} - {:.2g} for k = {}", all[i].gap, next.gap, next.gap_error, next.k)};
  }
  if (all.size() < 2 || std::isnan(all.back().gap)) return std::nullopt;
  return Vote{gap.name, all.back().k, "it grows up to the largest k; there may be more clusters"};
}

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

// The largest k that predicts well (Tibshirani and Walther: 0.8 to 0.9 for clusters that are well apart).
std::optional<Vote> vote_of_strength(const Criterion& strength, All all) {
  constexpr double kStrong = 0.8;
  const Evidence* best = nullptr;
  for (const Evidence& its : all) {
    if (its.prediction_strength + its.prediction_strength_error >= kStrong) best = &its;
  }
  if (best == nullptr) return std::nullopt;
  return Vote{strength.name, best->k, fmt::format("{:.4g}, and 0.8 is asked for", best->prediction_strength)};
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
     "the least k that is no worse than the next one, by its standard error",
     {&Evidence::gap},
     {&Evidence::gap_error},
     vote_of_gap},
    {"calinski_harabasz",
     "Calinski-Harabasz",
     "CH",
     "the larger, the better",
     {nullptr, &Criteria::calinski_harabasz},
     {},
     vote_of_best<kLargest>},
    {"davies_bouldin",
     "Davies-Bouldin",
     "DB",
     "the smaller, the better",
     {nullptr, &Criteria::davies_bouldin},
     {},
     vote_of_best<kSmallest>},
    {"bic", "BIC", "BIC", "the smaller, the better", {nullptr, &Criteria::bic}, {}, vote_of_best<kSmallest>},
    {"simplified_silhouette",
     "Simplified silhouette",
     "simple",
     "the larger, the better",
     {nullptr, &Criteria::simplified_silhouette},
     {},
     vote_of_best<kLargest>},
    {"squared_silhouette",
     "Squared silhouette",
     "squared",
     "the larger, the better",
     {nullptr, &Criteria::squared_silhouette},
     {},
     vote_of_best<kLargest>},
    {"silhouette",
     "Silhouette, of a sample",
     "silh.",
     "the larger, the better",
     {nullptr, &Criteria::silhouette},
     {nullptr, &Criteria::silhouette_error}},
    {"prediction_strength",
     "Prediction strength",
     "predict",
     "the largest k that has 0.8, by its standard error",
     {&Evidence::prediction_strength},
     {&Evidence::prediction_strength_error},
     vote_of_strength},
    {"stability",
     "Stability",
     "stable",
     "the largest k that is as stable as the most stable one, by its standard error",
     {&Evidence::stability},
     {&Evidence::stability_error},
     vote_of_stability},
    {"pac",
     "Share of ambiguous pairs (PAC)",
     "PAC",
     "the smaller, the better",
     {&Evidence::pac},
     {},
     vote_of_best<kSmallest>},
    {"agreement", "Agreement of the best models", "agree", "1: they are the same", {&Evidence::agreement}},
};

}  // namespace

std::span<const Criterion> all_criteria() {
  return kCriteria;
}

}  // namespace manymeans
