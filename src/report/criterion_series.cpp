// The criteria of a choice as a list: a further one is a line.
#include <manymeans/report.h>

#include <algorithm>

namespace manymeans {
namespace {

struct Criterion {
  const char *name, *title, *heading, *meaning;
  double (*value)(const Evidence&);
  double (*error)(const Evidence&) = nullptr;
};

constexpr Criterion kCriteria[] = {
    {"gap", "Gap statistic", "gap", "the least k that is no worse than the next one, by its standard error",
     [](const Evidence& its) { return its.gap; }, [](const Evidence& its) { return its.gap_error; }},
    {"calinski_harabasz", "Calinski-Harabasz", "CH", "the larger, the better",
     [](const Evidence& its) { return its.criteria.calinski_harabasz; }},
    {"davies_bouldin", "Davies-Bouldin", "DB", "the smaller, the better",
     [](const Evidence& its) { return its.criteria.davies_bouldin; }},
    {"bic", "BIC", "BIC", "the smaller, the better", [](const Evidence& its) { return its.criteria.bic; }},
    {"simplified_silhouette", "Simplified silhouette", "simple", "the larger, the better",
     [](const Evidence& its) { return its.criteria.simplified_silhouette; }},
    {"squared_silhouette", "Squared silhouette", "squared", "the larger, the better",
     [](const Evidence& its) { return its.criteria.squared_silhouette; }},
    {"silhouette", "Silhouette, of a sample", "silh.", "the larger, the better",
     [](const Evidence& its) { return its.criteria.silhouette; },
     [](const Evidence& its) { return its.criteria.silhouette_error; }},
    {"prediction_strength", "Prediction strength", "predict", "the largest k that has 0.8, by its standard error",
     [](const Evidence& its) { return its.prediction_strength; },
     [](const Evidence& its) { return its.prediction_strength_error; }},
    {"stability", "Stability", "stable",
     "the largest k that is as stable as the most stable one, by its standard error",
     [](const Evidence& its) { return its.stability; }, [](const Evidence& its) { return its.stability_error; }},
    {"pac", "Share of ambiguous pairs (PAC)", "PAC", "the smaller, the better",
     [](const Evidence& its) { return its.pac; }},
    {"agreement", "Agreement of the best models", "agree", "1: they are the same",
     [](const Evidence& its) { return its.agreement; }},
};

}  // namespace

std::vector<CriterionSeries> criterion_series(const ChosenK& chosen) {
  std::vector<CriterionSeries> all;
  for (const Criterion& criterion : kCriteria) {
    CriterionSeries series{criterion.name, criterion.title, criterion.heading, criterion.meaning, {}};
    for (const Evidence& evidence : chosen.evidence) {
      series.values.push_back(criterion.value(evidence));
      if (criterion.error != nullptr) series.errors.push_back(criterion.error(evidence));
    }
    const auto vote = std::ranges::find(chosen.votes, series.name, &Vote::criterion);
    if (vote != chosen.votes.end()) {
      series.vote = vote->k;
      series.reason = vote->reason;
    }
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace manymeans
