// The criteria of a choice with their values for every k.
#include <manymeans/report.h>

#include <algorithm>

namespace manymeans {

std::vector<CriterionSeries> criterion_series(const ChosenK& chosen) {
  std::vector<CriterionSeries> all;
  for (const Criterion& criterion : all_criteria()) {
    CriterionSeries series{criterion.name, criterion.title, criterion.heading, criterion.meaning, {}};
    for (const Evidence& evidence : chosen.evidence) {
      series.values.push_back(criterion.value.in(evidence));
      if (criterion.error.exists()) series.errors.push_back(criterion.error.in(evidence));
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
