#include "engine/decide_k.h"

#include "core/data_type.h"
#include "data/gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {

template <>
std::span<const std::string_view> names_of<ChoiceStatus>() {
  static constexpr std::array<std::string_view, 4> kNames = {"firm", "several", "unclear", "one"};
  return kNames;
}

namespace {

using All = std::vector<Evidence>;
using ByFamily = std::map<std::string, int64_t>;  // the k that each family of criteria chooses

// The number that occurs most, the smallest of equals; 1 if there is none.
int64_t most_frequent(const std::vector<int64_t>& all) {
  std::map<int64_t, int> counts;
  for (const int64_t k : all) ++counts[k];
  int64_t best = 1;
  for (const auto& [k, count] : counts) {
    if (counts.count(best) == 0 || count > counts[best]) best = k;
  }
  return best;
}

std::vector<int64_t> choices(const ByFamily& votes) {
  std::vector<int64_t> all;
  for (const auto& vote : votes) all.push_back(vote.second);
  return all;
}

// Four criteria of one kind count once.
ByFamily family_votes(const All& among) {
  std::map<std::string, std::vector<int64_t>> all;
  for (const Criterion& its : all_criteria()) {
    if (its.vote == nullptr || its.family == nullptr) continue;
    if (const auto vote = its.vote(its, among)) all[its.family].push_back(vote->k);
  }
  ByFamily votes;
  for (const auto& [family, ks] : all) votes[family] = most_frequent(ks);
  return votes;
}

bool returns(const Evidence& its) {
  return its.k > 1 && its.prediction_strength + its.prediction_strength_error >= kMinStrength &&
         its.stability + its.stability_error >= kMinStability;
}

const Evidence& evidence_of(const ChosenK& found, int64_t k) {
  return *std::ranges::find(found.evidence, k, &Evidence::k);
}

// The k to use where no k is clear: 1 if the gap statistic sees no clusters.
int64_t usable_k(const All& all) {
  const ByFamily votes = family_votes(all);
  const auto gap = votes.find("gap");
  return gap != votes.end() && gap->second == 1 ? 1 : most_frequent(choices(votes));
}

std::string meaning_of(const Evidence& its) {
  if (its.k == 1) return "one group: no valley separates clusters";
  return separate(its) ? fmt::format("clusters that valleys separate ({:.1f}, at least {})", its.valley, kMinValley)
                       : fmt::format("parts that return in other rows (strength {}) but touch", strength_text(its, 2));
}

void answer_several(ChosenK& found, const std::set<int64_t>& ks) {
  found.status = ChoiceStatus::kSeveral;
  for (const int64_t k : ks) found.defensible.push_back({k, meaning_of(evidence_of(found, k))});
  found.answer = fmt::format("k = {}", fmt::join(ks, " or "));
}

void answer_firm(ChosenK& found, size_t candidates, size_t families) {
  const auto finer = [&](const Evidence& one) { return one.k > found.k && returns(one); };
  const Evidence& its = evidence_of(found, found.k);
  found.status = ChoiceStatus::kFirm;
  found.defensible = {{found.k, meaning_of(its)}};
  found.answer = fmt::format("k = {}", found.k);
  found.reason = fmt::format("its clusters return in other rows (strength {}), valleys separate them, and ",
                             strength_text(its, 2));
  found.reason += candidates == 1 ? "no other k has both"
                                  : fmt::format("all {} families of criteria choose it among such k", families);
  if (const auto part = std::ranges::find_if(found.evidence, finer); part != found.evidence.end()) {
    found.reason += fmt::format("; the clusters of k = {} return, too, but touch", part->k);
  }
}

// The k whose clusters return and are separate. If there is none, those whose clusters return: but slices of a long
// tail return, too.
All candidates_of(const All& all, const Shape& shape) {
  All apart, touching;
  for (const Evidence& its : all) {
    if (returns(its)) (separate(its) ? apart : touching).push_back(its);
  }
  if (!apart.empty()) return apart;
  return shape.is_skewed() ? All() : touching;
}

// Decides among the k whose clusters return in other rows.
void decide_among(ChosenK& found, const All& candidates) {
  const ByFamily votes = family_votes(candidates);
  const std::vector<int64_t> ks = choices(votes);
  found.k = most_frequent(ks);
  std::set<int64_t> chosen(ks.begin(), ks.end());
  if (!separate(candidates[0])) {
    chosen.insert(1);
    answer_several(found, chosen);
    found.reason = "clusters return in other rows, but no valley separates them: they may be parts of one group";
  } else if (chosen.size() > 1) {
    answer_several(found, chosen);
    found.reason = "clusters of each return in other rows, and the families of criteria disagree";
  } else {
    answer_firm(found, candidates.size(), votes.size());
  }
}

// Decides where nothing returns, or only slices of skewed columns.
void decide_without_candidates(ChosenK& found) {
  constexpr double kMaxOfOne = 0.5;
  constexpr int64_t kMinRows = 100;  // fewer rows cannot show that there is no valley
  constexpr double kMinAgreement = 0.9;
  if (const auto part = std::ranges::find_if(found.evidence, returns); part != found.evidence.end()) {
    found.k = part->k;
    found.reason = fmt::format("the clusters of k = {} return in other rows, but no valley separates them", part->k);
    return;
  }
  const auto deep = [](const Evidence& its) { return its.k > 1 && !(its.valley < kMaxOfOne); };
  if (std::ranges::none_of(found.evidence, deep) && found.evidence[0].criteria.rows >= kMinRows) {
    found.status = ChoiceStatus::kOne;
    found.k = 1;
    found.answer = "one group";
    found.reason = "no k has clusters that return in other rows, and no valley separates any";
    return;
  }
  const auto strength = [](const Evidence& its) { return its.k == 1 ? 0 : its.prediction_strength; };
  const Evidence& best = *std::ranges::max_element(found.evidence, {}, strength);
  found.k = best.k;
  found.reason = fmt::format(
      "no k has clusters that return in other rows; k = {} comes nearest (strength {} and stability {}, where {} and "
      "{} "
      "are enough)",
      best.k, beside_limit(best.prediction_strength, kMinStrength, 2), beside_limit(best.stability, kMinStability, 2),
      kMinStrength, kMinStability);
  if (best.agreement < kMinAgreement) {
    found.reason += fmt::format("; its models disagree (agreement {:.2f}), so more of them may find one that returns",
                                best.agreement);
  }
}

void add_warnings(ChosenK& found) {
  std::set<int64_t> shown = {found.k};
  for (const DefensibleK& its : found.defensible) shown.insert(its.k);
  shown.erase(1);
  for (const int64_t k : shown) {
    const auto best = found.fit.best(k);
    if (best < 0) continue;
    const auto single = std::ranges::count(found.fit.models[static_cast<size_t>(best)].counts, 1);
    if (single > 0) {
      found.warnings.push_back(fmt::format("k = {} has {} of one row: outliers, or too many clusters", k,
                                           single == 1 ? "a cluster" : fmt::format("{} clusters", single)));
    }
  }
  const Evidence last = found.evidence.empty() ? Evidence() : found.evidence.back();
  if (shown.contains(last.k) && last.k < last.criteria.rows) {
    found.warnings.push_back(fmt::format("k = {} is the largest that was judged: judge larger k, too", last.k));
  }
}

// Rows of a column about its mean.
struct ColumnShape {
  double skewness = 0;
  double mean = 0, deviation = 0;
};

ColumnShape column_shape(std::span<const double> values, size_t column, size_t columns) {
  const double rows = static_cast<double>(values.size() / columns);
  double sum = 0, squares = 0, cubes = 0;
  for (size_t at = column; at < values.size(); at += columns) sum += values[at];
  const double mean = sum / rows;
  for (size_t at = column; at < values.size(); at += columns) {
    const double off = values[at] - mean;
    squares += off * off;
    cubes += off * off * off;
  }
  const double deviation = std::sqrt(squares / rows);
  return {deviation > 0 ? cubes / rows / (deviation * deviation * deviation) : 0, mean, deviation};
}

// Returns whether some columns are a tenth of all, or more.
bool are_many(size_t some, size_t columns) {
  constexpr size_t kPart = 10;
  return some > 0 && some * kPart >= columns;
}

bool has_two_values(const std::vector<double>& values, size_t column, size_t columns) {
  std::set<double> found;
  for (size_t at = column; at < values.size() && found.size() < 3; at += columns) found.insert(values[at]);
  return found.size() == 2;
}

}  // namespace

std::string beside_limit(double value, double limit, int digits) {
  constexpr int kMax = 16;
  std::string text;
  for (double shown = 0; text.empty() || (digits <= kMax && (shown >= limit) != (value >= limit)); ++digits) {
    text = fmt::format("{:.{}f}", value, digits);
    std::from_chars(text.data(), text.data() + text.size(), shown);  // of any locale
  }
  return text;
}

std::string strength_text(const Evidence& its, int digits) {
  const std::string text = beside_limit(its.prediction_strength, kMinStrength, digits);
  const bool by_error = its.prediction_strength < kMinStrength;
  return by_error ? fmt::format("{}, within its standard error of {}", text, kMinStrength) : text;
}

bool Shape::is_skewed() const {
  return are_many(skewed, columns);
}

std::string Shape::text() const {
  if (const size_t count = skewed - skewed_two_valued; is_skewed() && count > 0) {
    return fmt::format("skewed columns mislead criteria, {} of {} ({}): try their logarithms", count, columns,
                       tails.text());
  }
  if (outliers == 0) return "";
  return fmt::format("outliers mislead criteria, {} of {} rows{} (in {})", outliers, rows,
                     sampled ? " of a sample" : "", far.text());
}

Shape shape_of(const PointsView& points, std::span<const std::string> names) {
  constexpr int64_t kMinRows = 64, kMaxRows = 4096, kMaxValues = int64_t{1} << 22;
  constexpr double kSkewed = 1.5, kFar = 6;
  const int64_t wanted = std::clamp(kMaxValues / points.d, kMinRows, kMaxRows);
  const Matrix rows = gather_rows(points, spread_rows(points.n, std::min(points.n, wanted)));
  const auto columns = static_cast<size_t>(rows.columns());
  std::vector<double> values(static_cast<size_t>(rows.rows()) * columns);
  widen(rows.view().data, rows.type(), 0, rows.rows() * rows.columns(), values.data());
  Shape shape{.columns = columns, .rows = rows.rows(), .sampled = rows.rows() < points.n};
  std::set<size_t> outliers;
  for (size_t column = 0; column < columns; ++column) {
    const ColumnShape its = column_shape(values, column, columns);
    const bool is_skewed = std::fabs(its.skewness) >= kSkewed, has_two = has_two_values(values, column, columns);
    shape.skewed += is_skewed ? 1 : 0;
    shape.two_valued += has_two ? 1 : 0;
    shape.skewed_two_valued += is_skewed && has_two ? 1 : 0;
    const std::string name = column < names.size() ? names[column] : fmt::format("column {}", column + 1);
    if (is_skewed && !has_two) shape.tails.add(name);
    bool is_far = false;
    for (size_t at = column; at < values.size(); at += columns) {
      if (std::fabs(values[at] - its.mean) <= kFar * its.deviation) continue;
      outliers.insert(at / columns);
      is_far = true;
    }
    if (is_far) shape.far.add(name);
  }
  shape.outliers = std::ssize(outliers);
  return shape;
}

void decide(ChosenK& found, const Shape& shape) {
  for (const Criterion& criterion : all_criteria()) {
    if (criterion.vote == nullptr) continue;
    if (auto vote = criterion.vote(criterion, found.evidence)) found.votes.push_back(std::move(*vote));
  }
  found.status = ChoiceStatus::kUnclear;
  found.answer = "no clear k";
  found.k = usable_k(found.evidence);
  const All candidates = candidates_of(found.evidence, shape);
  if (found.evidence.size() < 2) {
    found.k = found.evidence.empty() ? 1 : found.evidence[0].k;
    found.reason = "no other k was judged";
  } else if (std::ranges::all_of(found.evidence, [](const Evidence& its) { return std::isnan(its.stability); })) {
    found.reason = "stability is not known, so nothing tells whether clusters return in other rows";
  } else if (candidates.empty()) {
    decide_without_candidates(found);
  } else {
    decide_among(found, candidates);
  }
  if (const std::string text = shape.text(); found.status != ChoiceStatus::kFirm && !text.empty()) {
    found.reason += "; " + text;
  }
  if (shape.columns > 1 && are_many(shape.two_valued, shape.columns)) {
    found.reason += fmt::format(
        "; {} of {} columns have two values, as categories do, and their clusters return by themselves: compare a run "
        "without them",
        shape.two_valued, shape.columns);
  }
  add_warnings(found);
}

}  // namespace manymeans
