// How the models came to be, and how far they agree.
#include <manymeans/compare.h>

#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace manymeans::report {
namespace {

constexpr double kWidth = 360, kHeight = 220;
constexpr size_t kMaxMembers = 10;
constexpr size_t kMaxMarks = 300;

Axis along(Axis x) {
  x.from = 70, x.to = kWidth - 10;
  return x;
}
Axis upwards(Axis y) {
  y.from = kHeight - 40, y.to = 10;
  return y;
}

// Dots of all models over k, and a line through the best of each.
std::string inertias(const ShownModel& shown) {
  std::vector<const ModelResult*> begun;
  for (const ModelResult& model : shown.fit.models) {
    if (model.stop_reason != StopReason::kNotBegun && std::isfinite(model.inertia)) begun.push_back(&model);
  }
  if (begun.size() < 2) return {};
  double low = INFINITY, high = -INFINITY, first = INFINITY, last = 0;
  for (const ModelResult* model : begun) {
    low = std::min(low, model->inertia), high = std::max(high, model->inertia);
    first = std::min(first, static_cast<double>(model->k_requested));
    last = std::max(last, static_cast<double>(model->k_requested));
  }
  const bool many_k = last > first;
  Axis x = along(many_k ? axis_of(first, last, "k")
                        : axis_of(1, static_cast<double>(begun.size()), "models, the best first"));
  Axis y = upwards(axis_of(low, high, "inertia"));
  x.whole = true;
  Chart chart(kWidth, kHeight, "Inertia of every model");
  chart.axes(x, y);
  if (!many_k) std::ranges::stable_sort(begun, {}, &ModelResult::inertia);
  constexpr size_t kMax = 2000;
  std::map<double, double> best;
  for (size_t i = 0; i < std::min(begun.size(), kMax); ++i) {
    const double place = many_k ? static_cast<double>(begun[i]->k_requested) : static_cast<double>(i + 1);
    const auto [found, added] = best.emplace(place, begun[i]->inertia);
    if (!added) found->second = std::min(found->second, begun[i]->inertia);
    chart.add(fmt::format(
        "<circle class=\"k5\" cx=\"{}\" cy=\"{}\" r=\"3\"><title>k = {}, seed {}: {:.7g}</title></circle>\n",
        px(x.at(place)), px(y.at(begun[i]->inertia)), begun[i]->k_requested, begun[i]->seed, begun[i]->inertia));
  }
  std::vector<std::pair<double, double>> line;
  for (const auto& [place, inertia] : best) line.emplace_back(x.at(place), y.at(inertia));
  chart.add(fmt::format("<path class=\"c k0l\" d=\"{}\"/>\n", path_of(line)));
  return fit(chart.svg());
}

std::string members_table(const ShownModel& shown) {
  std::vector<std::vector<std::string>> rows;
  for (const ModelResult* model : best_models(shown.fit)) {
    rows.push_back({fmt::format("{}", model->k_requested), fmt::format("{}", model->seed),
                    fmt::format("{:.7g}", model->inertia), fmt::format("{}", model->iterations),
                    std::string(name_of(model->stop_reason)), shown.digest_of(*model)});
  }
  constexpr size_t kMax = 100;
  if (rows.size() > kMax) rows.resize(kMax);
  return table({"k", "best seed", "inertia", "iterations", "stop", "digest"}, rows, 0);
}

// Adjusted Rand indices of the best models of a k, and how often other models put a row where the best one does.
struct Agreement {
  std::vector<const ModelResult*> models;
  std::vector<std::vector<double>> rand;
  std::vector<double> share;  // by row of the sample
  std::vector<int64_t> cluster;
};

Agreement agreement_of(const ShownModel& shown) {
  Agreement found;
  found.models = begun_models(shown.fit, shown.model.k_requested);
  if (found.models.size() > kMaxMembers) found.models.resize(kMaxMembers);
  if (found.models.size() < 2) return found;
  const std::vector<int64_t> rows = compared_rows(shown.model.labels);
  std::vector<std::vector<int64_t>> labels;
  for (const ModelResult* model : found.models) labels.push_back(labels_at(model->labels, rows));
  found.cluster = labels[0];
  found.share.assign(rows.size(), 0);
  found.rand.assign(labels.size(), std::vector<double>(labels.size(), 1.0));
  for (size_t a = 0; a < labels.size(); ++a) {
    for (size_t b = a + 1; b < labels.size(); ++b) {
      const LabelComparison compared = compare_labels(labels[a], labels[b]);
      found.rand[a][b] = found.rand[b][a] = compared.adjusted_rand;
      if (a > 0) continue;
      std::map<int64_t, int64_t> partner;
      for (const LabelCell& pair : compared.pairs) partner.emplace(pair.a, pair.b);
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto own = partner.find(labels[0][i]);
        if (own != partner.end() && own->second == labels[b][i])
          found.share[i] += 1.0 / static_cast<double>(labels.size() - 1);
      }
    }
  }
  return found;
}

std::string rand_matrix(const Agreement& found) {
  constexpr double kCell = 30, kLeft = 44, kTop = 40;
  const auto n = static_cast<double>(found.models.size());
  Chart chart(std::max(kLeft + kCell * n + 8, 250.0), kTop + kCell * n + 8, "Adjusted Rand index between models");
  chart.title("Adjusted Rand index between models");
  for (size_t a = 0; a < found.models.size(); ++a) {
    const double at = kCell * static_cast<double>(a);
    chart.text(kLeft - 8, kTop + at + 18, fmt::format("no. {}", a + 1), Anchor::kEnd);
    chart.text(kLeft + at + 15, kTop - 6, fmt::format("{}", a + 1), Anchor::kMiddle);
    for (size_t b = 0; b < found.models.size(); ++b) {
      const double value = found.rand[a][b], across = kLeft + kCell * static_cast<double>(b);
      chart.add(
          fmt::format("<rect class=\"neg\" x=\"{}\" y=\"{}\" width=\"29\" height=\"29\" fill-opacity=\"{:.2f}\"/>\n",
                      px(across), px(kTop + at), 0.55 * std::clamp(value, 0.0, 1.0)));
      chart.text(across + 15, kTop + at + 18, fmt::format("{:.2f}", value), Anchor::kMiddle);
    }
  }
  return "<figure>" + chart.svg() + "</figure>\n";
}

std::string share_histogram(const Agreement& found) {
  const size_t others = found.models.size() - 1;
  std::vector<double> bars(others + 1);
  for (const double share : found.share) {
    bars[static_cast<size_t>(std::lround(share * static_cast<double>(others)))] +=
        1 / static_cast<double>(found.share.size());
  }
  Axis x{78, 326, -0.5, static_cast<double>(others) + 0.5, "other models that agree on a row"},
      y{192, 30, 0, 1.04, "share of rows"};
  x.whole = true;
  Chart chart(340, 236, "How many models agree on a row");
  chart.title("Agreement on single rows");
  chart.axes(x, y);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double left = x.at(static_cast<double>(i) - 0.4), right = x.at(static_cast<double>(i) + 0.4);
    chart.add(fmt::format(
        "<rect class=\"k0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{} of {}: {} of the "
        "rows</title></rect>\n",
        px(left), px(y.at(bars[i])), px(right - left), px(y.from - y.at(bars[i])), i, others, percent(bars[i])));
  }
  return "<figure>" + chart.svg() + "</figure>\n";
}

std::string agreement_by_cluster(const ShownModel& shown, const Agreement& found) {
  std::vector<double> sums(shown.shares.size()), counts(shown.shares.size());
  for (size_t i = 0; i < found.share.size(); ++i) {
    sums[static_cast<size_t>(found.cluster[i])] += found.share[i];
    counts[static_cast<size_t>(found.cluster[i])] += 1;
  }
  std::vector<std::vector<std::string>> rows;
  for (const size_t k : shown.clusters) {
    rows.push_back({fmt::format("{}", k), counts[k] > 0 ? percent(sums[k] / counts[k]) : "-"});
  }
  return table({"cluster", "mean agreement of its rows"}, rows, 0);
}

// The inertia of the best model of a search so far, against time or rounds.
std::string search_chart(const ShownModel& shown, const SearchSummary& search) {
  const bool times = shown.input.times;
  const auto place = [&](const SearchStep& step) { return times ? step.seconds : static_cast<double>(step.round); };
  double low = INFINITY, high = -INFINITY;
  for (const SearchStep& step : search.steps) low = std::min(low, step.inertia), high = std::max(high, step.inertia);
  const double last =
      std::max(place(search.steps.back()), times ? 1e-3 : static_cast<double>(std::max<int64_t>(search.rounds, 1)));
  const Axis x = along(
      {.low = 0, .high = last * 1.02, .title = times ? "seconds since the search began" : "round", .whole = !times});
  const Axis y = upwards(axis_of(low, high, "inertia of the best model"));
  Chart chart(kWidth, kHeight, "Inertia during the search");
  chart.axes(x, y);
  std::string path;
  for (const SearchStep& step : search.steps) {
    const std::string at = px(x.at(place(step))), height = px(y.at(step.inertia));
    path += path.empty() ? fmt::format("M{} {}", at, height) : fmt::format("H{}V{}", at, height);
  }
  chart.add(fmt::format("<path class=\"c k0l\" d=\"{}H{}\"/>\n", path, px(x.to)));
  for (const SearchStep& step : search.steps) {
    chart.add(fmt::format("<circle class=\"k1\" cx=\"{}\" cy=\"{}\" r=\"3\"><title>round {}: {:.7g}</title></circle>\n",
                          px(x.at(place(step))), px(y.at(step.inertia)), step.round, step.inertia));
  }
  return fit(chart.svg());
}

}  // namespace

std::string members_part(const ShownModel& shown) {
  const std::string chart = inertias(shown);
  if (chart.empty()) return {};
  const char* const measure = shown.input.regression != nullptr ? "Error" : "Inertia";
  return section(
      fmt::format("{} of every model", measure),
      fmt::format(
          "A dot is a model; the line goes through the best ones. {} falls with every k, also where there is nothing "
          "more to find. Dots of one k far apart mean that chance decides where a fit ends: more models find better "
          "ones.",
          measure),
      chart + folded("The best models as a table", members_table(shown)));
}

std::string agreement_part(const ShownModel& shown) {
  if (shown.model.labels.empty()) return {};
  const Agreement found = agreement_of(shown);
  if (found.models.size() < 2) return {};
  return section(
      "Agreement of the models",
      fmt::format(
          "The {} best models of k = {}, no. 1 being the one shown, compared by {}: 1 means the same "
          "clusters, 0 no more alike than chance. Another model agrees on a row where it puts the row into the "
          "cluster that is matched with the row's own. Little agreement means that the clusters are not the only ones "
          "that the points allow.",
          found.models.size(), shown.model.k_requested, counted(std::ssize(found.share), "row")),
      side_by_side(rand_matrix(found) + share_histogram(found)) + agreement_by_cluster(shown, found));
}

std::string search_part(const ShownModel& shown) {
  if (shown.index >= shown.input.searches.size()) return {};
  const SearchSummary& search = shown.input.searches[shown.index];
  if (search.steps.empty()) return {};
  return section(
      "Search",
      fmt::format("The lowest inertia so far; a dot is an improvement. {} done{}.", counted(search.rounds, "round"),
                  search.ended ? ", then there was nothing left to search for" : ""),
      search_chart(shown, search));
}

std::string passes_part(const ShownModel& shown) {
  const std::vector<PassLog>& log = shown.fit.provenance.pass_log;
  if (log.size() < 2) return {};
  std::vector<double> shares;
  double least = 1;
  for (const PassLog& pass : log) {
    const double share = pass.labelled > 0 ? static_cast<double>(pass.changed) / static_cast<double>(pass.labelled) : 0;
    shares.push_back(share > 0 ? share : NAN);
    if (share > 0) least = std::min(least, share);
  }
  if (std::ranges::all_of(shares, [](double share) { return std::isnan(share); })) return {};
  Axis x = along(axis_of(1, static_cast<double>(log.size()), "pass over the points"));
  x.whole = true;
  const Axis y = upwards(
      {.low = std::min(0.1, least) / 1.3, .high = 1.3, .title = "share of labels that changed", .logarithmic = true});
  Chart chart(kWidth, kHeight, "Labels that changed in each pass");
  chart.axes(x, y);
  std::vector<std::pair<double, double>> line;
  for (size_t i = 0; i < shares.size(); ++i) {
    line.emplace_back(x.at(static_cast<double>(i + 1)), std::isnan(shares[i]) ? NAN : y.at(shares[i]));
    if (std::isnan(shares[i]) || shares.size() > kMaxMarks) continue;  // a pass between two gaps is no line
    chart.add(fmt::format("<circle class=\"k0\" cx=\"{}\" cy=\"{}\" r=\"2\"><title>pass {}: {}</title></circle>\n",
                          px(line[i].first), px(line[i].second), i + 1, percent(shares[i])));
  }
  chart.add(fmt::format("<path class=\"c k0l\" d=\"{}\"/>\n", path_of(line)));
  return section(
      "Convergence",
      "The share of all labels, of all models that took part, that changed in each pass; the scale is logarithmic, "
      "and a gap is a pass without changes.",
      fit(chart.svg()));
}

}  // namespace manymeans::report
