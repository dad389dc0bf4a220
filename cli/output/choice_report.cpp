#include "output/choice_report.h"

#include <manymeans/io.h>
#include <manymeans/json.h>
#include <manymeans/report.h>

#include "output/fit_report.h"
#include "output/progress_line.h"
#include "output/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;

// Few characters: there are many columns.
std::string shown(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::fabs(value);
  if (size < 10) return fmt::format("{:.3f}", value);
  return size >= 1000 && size < 1e6 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string evidence_table(const ChosenK& chosen, const std::vector<CriterionSeries>& all) {
  std::vector<std::vector<std::string>> rows = {{"k", "inertia"}};
  for (const CriterionSeries& series : all) rows[0].push_back(series.heading + " ");
  for (size_t i = 0; i < chosen.evidence.size(); ++i) {
    const Evidence& evidence = chosen.evidence[i];
    std::vector<std::string> row = {fmt::format("{}", evidence.k), fmt::format("{:.4g}", evidence.inertia)};
    for (const CriterionSeries& series : all) {
      row.push_back(shown(series.values[i]) + (series.vote == evidence.k ? "*" : " "));
    }
    rows.push_back(std::move(row));
  }
  return format_table(std::string(rows[0].size(), 'r'), rows);
}

// The answer, what each k means, and which criteria choose another k, with "gap: 3 (0.2918, the largest)" for each.
std::string answer(const ChosenK& chosen, const std::vector<CriterionSeries>& all) {
  std::string text = fmt::format("{}: {}\n", chosen.answer, chosen.reason);
  if (chosen.status == ChoiceStatus::kSeveral) {
    for (const DefensibleK& its : chosen.defensible) text += fmt::format("  k = {}: {}\n", its.k, its.meaning);
  }
  std::string dissent;
  for (const CriterionSeries& series : all) {
    if (series.vote == 0 || series.vote == chosen.k) continue;
    dissent += fmt::format("  {} chooses {} ({})\n", series.title, series.vote, series.reason);
  }
  if (chosen.status == ChoiceStatus::kFirm || chosen.status == ChoiceStatus::kOne) {
    return text + (dissent.empty() ? "no criterion chooses another\n" : "dissent:\n" + dissent);
  }
  return text + fmt::format("used here: k = {}\n", chosen.k) +
         (dissent.empty() ? "no criterion chooses another\n" : "criteria that choose another k:\n" + dissent);
}

}  // namespace

std::string choice_report(const std::string& data, const ChosenK& chosen, const FitResult& model,
                          const ChoiceDetails& details) {
  const std::vector<CriterionSeries> all = criterion_series(chosen);
  const ModelResult& best = model.models[0];
  std::string out = heading_of(data, model, points_style(model)) + "\n" + evidence_table(chosen, all);
  out += "*: the k that this criterion chooses\n";
  for (const CriterionSeries& series : all) {
    out += fmt::format("{:>7}  {}: {}\n", series.heading, series.title, series.meaning);
  }
  out += "\n" + answer(chosen, all);
  out += fmt::format("its best model has seed {} and digest {}\n", best.seed, best.digest());
  return out + details.clusters + ending_of(model, details.files);
}

std::string choice_json(const ChosenK& chosen, const FitResult& model) {
  Json defensible = Json::array(), votes = Json::array(), evidence = Json::array();
  for (const DefensibleK& its : chosen.defensible) defensible.push_back({{"k", its.k}, {"meaning", its.meaning}});
  for (const Vote& vote : chosen.votes) {
    votes.push_back({{"criterion", vote.criterion}, {"k", vote.k}, {"reason", vote.reason}});
  }
  const std::vector<CriterionSeries> all = criterion_series(chosen);
  for (size_t i = 0; i < chosen.evidence.size(); ++i) {
    const Evidence& its = chosen.evidence[i];
    Json one = {{"k", its.k}, {"seed", fmt::format("{}", its.model_seed)}, {"inertia", its.inertia}};
    for (const CriterionSeries& series : all) {
      one[series.name] = series.values[i];
      if (!series.errors.empty()) one[series.name + "_error"] = series.errors[i];
    }
    evidence.push_back(std::move(one));
  }
  Json json = Json::parse(to_json(model));
  json["choice"] = {
      {"status", name_of(chosen.status)}, {"k", chosen.k},  {"answer", chosen.answer}, {"reason", chosen.reason},
      {"defensible", defensible},         {"votes", votes}, {"evidence", evidence},    {"left_out", chosen.left_out}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace manymeans::cli
