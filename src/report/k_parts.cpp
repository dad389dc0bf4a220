// Many k side by side: criteria with their votes, inertias, and what becomes of clusters from one k to the next.
#include <manymeans/compare.h>

#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace manymeans::report {
namespace {

constexpr double kSmallWidth = 340, kSmallHeight = 236;

Axis small_x(Axis x) {
  x.from = 78, x.to = kSmallWidth - 14;
  return x;
}
Axis small_y(Axis y) {
  y.from = kSmallHeight - 44, y.to = 30;
  return y;
}

void add_band(Chart& chart, const Axis& x, const Axis& y, const CriterionSeries& series,
              const std::vector<double>& ks) {
  std::vector<std::pair<double, double>> outline;
  for (size_t i = 0; i < ks.size(); ++i) {
    if (std::isfinite(series.values[i])) outline.emplace_back(x.at(ks[i]), y.at(series.values[i] + series.errors[i]));
  }
  for (size_t i = ks.size(); i-- > 0;) {
    if (std::isfinite(series.values[i])) outline.emplace_back(x.at(ks[i]), y.at(series.values[i] - series.errors[i]));
  }
  chart.add(fmt::format("<path class=\"band\" d=\"{}Z\"/>\n", path_of(outline)));
}

std::string criterion_chart(const CriterionSeries& series, const std::vector<double>& ks, double chosen) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < ks.size(); ++i) {
    if (!std::isfinite(series.values[i])) continue;
    const double error = series.errors.empty() ? 0 : series.errors[i];
    low = std::min(low, series.values[i] - error);
    high = std::max(high, series.values[i] + error);
  }
  if (!(low <= high)) return {};
  Axis x = small_x(axis_of(ks.front(), ks.back(), "k")), y = small_y(axis_of(low, high, ""));
  x.whole = true;
  Chart chart(kSmallWidth, kSmallHeight, series.title + " against k");
  chart.title(series.title + (series.vote > 0 ? fmt::format(": chooses {}", series.vote) : ""));
  chart.axes(x, y);
  chart.add(fmt::format("<line class=\"chosen\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", px(x.at(chosen)),
                        px(y.from), px(y.to)));
  if (!series.errors.empty()) add_band(chart, x, y, series, ks);
  std::vector<std::pair<double, double>> line;
  for (size_t i = 0; i < ks.size(); ++i) line.emplace_back(x.at(ks[i]), y.at(series.values[i]));
  chart.add(fmt::format("<path class=\"c k0l\" d=\"{}\"/>\n", path_of(line)));
  for (size_t i = 0; i < ks.size(); ++i) {
    if (!std::isfinite(series.values[i])) continue;
    const bool voted = static_cast<double>(series.vote) == ks[i];
    chart.add(fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"><title>k = {}: {}</title></circle>\n",
                          voted ? "k1 o" : "k0", px(line[i].first), px(line[i].second), voted ? "6" : "2.5", ks[i],
                          shown(series.values[i])));
  }
  return "<figure>" + chart.svg() + "<figcaption>" + escaped(series.meaning) + "</figcaption></figure>\n";
}

std::string votes_table(const ChosenK& chosen, const std::vector<CriterionSeries>& all) {
  std::vector<std::string> heads = {"k", "inertia"};
  for (const CriterionSeries& series : all) heads.push_back(series.title);
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < chosen.evidence.size(); ++i) {
    const Evidence& evidence = chosen.evidence[i];
    rows.push_back({fmt::format("{}", evidence.k), shown(evidence.inertia)});
    for (const CriterionSeries& series : all) {
      rows.back().push_back(shown(series.values[i]) + (series.vote == evidence.k ? " *" : ""));
    }
  }
  return table(heads, rows, 0);
}

// The levels of the tree: at most kMaxLevels k, evenly, with the chosen one.
std::vector<const ModelResult*> levels_of(const ShownModel& shown) {
  constexpr size_t kMaxLevels = 24;
  std::vector<const ModelResult*> all = best_models(shown.fit);
  std::erase_if(all, [](const ModelResult* model) { return model->k > static_cast<int64_t>(kMaxClusters); });
  if (all.size() <= kMaxLevels) return all;
  std::vector<const ModelResult*> some;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool even = i * kMaxLevels / all.size() != (i + 1) * kMaxLevels / all.size();
    if (even || all[i]->k_requested == shown.model.k_requested) some.push_back(all[i]);
  }
  return some;
}

// From cluster to cluster of the next level: rows of the sample.
using Flows = std::map<std::pair<int64_t, int64_t>, int64_t>;

Flows flows_between(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  Flows flows;
  for (size_t i = 0; i < a.size(); ++i) ++flows[{a[i], b[i]}];
  return flows;
}

class Tree {
 public:
  explicit Tree(const ShownModel& shown) : levels_(levels_of(shown)) {
    if (levels_.size() < 2) return;
    const std::vector<int64_t> rows = compared_rows(shown.model.labels);
    rows_ = static_cast<double>(rows.size());
    for (const ModelResult* model : levels_) labels_.push_back(labels_at(model->labels, rows));
    for (size_t i = 0; i + 1 < levels_.size(); ++i) flows_.push_back(flows_between(labels_[i], labels_[i + 1]));
    arrange();
  }

  size_t levels() const { return levels_.size(); }

  std::string chart(int64_t chosen) const {
    Chart chart(kWidth, kTop + kLevel * static_cast<double>(levels_.size()) + 6, "Tree of the clusters over k");
    for (size_t level = 0; level + 1 < levels_.size(); ++level) add_flows(chart, level);
    for (size_t level = 0; level < levels_.size(); ++level) {
      const bool bold = levels_[level]->k_requested == chosen;
      chart.text(2, y_at(level) + 4, fmt::format("k = {}", levels_[level]->k_requested), Anchor::kStart,
                 bold ? "t" : "");
      add_nodes(chart, level);
    }
    return large(chart.svg());
  }

 private:
  static constexpr double kWidth = 480, kLeft = 48, kTop = 6, kLevel = 34, kMinShare = 0.02;

  double y_at(size_t level) const { return kTop + kLevel * (static_cast<double>(level) + 0.5); }
  double x_at(size_t level, int64_t cluster) const {
    const auto count = static_cast<double>(place_[level].size());
    return kLeft + (kWidth - kLeft - 8) * (place_[level][static_cast<size_t>(cluster)] + 0.5) / count;
  }
  double size_of(size_t level, int64_t cluster) const {
    return static_cast<double>(sizes_[level][static_cast<size_t>(cluster)]);
  }

  // Places clusters below the clusters that their rows come from.
  void arrange() {
    for (size_t level = 0; level < levels_.size(); ++level) {
      const auto k = static_cast<size_t>(levels_[level]->k);
      sizes_.emplace_back(k);
      for (const int64_t label : labels_[level]) ++sizes_[level][static_cast<size_t>(label)];
      std::vector<double> middle(k);
      for (size_t c = 0; c < k; ++c) middle[c] = static_cast<double>(c);
      if (level > 0) {
        std::ranges::fill(middle, 0.0);
        for (const auto& [edge, rows] : flows_[level - 1]) {
          middle[static_cast<size_t>(edge.second)] +=
              x_at(level - 1, edge.first) * static_cast<double>(rows) / size_of(level, edge.second);
        }
      }
      std::vector<size_t> order(k);
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::stable_sort(order, {}, [&](size_t c) { return middle[c]; });
      place_.emplace_back(k);
      for (size_t i = 0; i < k; ++i) place_[level][order[i]] = static_cast<double>(i);
    }
  }

  void add_flows(Chart& chart, size_t level) const {
    const double top = y_at(level), bottom = y_at(level + 1), middle = (top + bottom) / 2;
    for (const auto& [edge, rows] : flows_[level]) {
      const double share = static_cast<double>(rows) / size_of(level + 1, edge.second);
      if (share < kMinShare) continue;
      const std::string from = px(x_at(level, edge.first)), to = px(x_at(level + 1, edge.second));
      chart.add(fmt::format(
          "<path class=\"flow\" stroke-width=\"{}\" d=\"M{} {}C{} {} {} {} {} {}\"><title>{} of cluster {} of "
          "k = {} come from cluster {} of k = {}</title></path>\n",
          px(1 + 7 * std::sqrt(static_cast<double>(rows) / rows_)), from, px(top), from, px(middle), to, px(middle), to,
          px(bottom), percent(share), edge.second, levels_[level + 1]->k_requested, edge.first,
          levels_[level]->k_requested));
    }
  }

  void add_nodes(Chart& chart, size_t level) const {
    const double room = (kWidth - kLeft - 8) / static_cast<double>(place_[level].size());
    for (size_t c = 0; c < place_[level].size(); ++c) {
      const auto cluster = static_cast<int64_t>(c);
      const double x = x_at(level, cluster),
                   radius = std::min(room / 2.2, 3 + 9 * std::sqrt(size_of(level, cluster) / rows_));
      chart.add(marker(c, {x, y_at(level), radius}, "o",
                       fmt::format("cluster {} of k = {}: {}", c, levels_[level]->k_requested,
                                   percent(size_of(level, cluster) / rows_))));
      if (room > 13) chart.text(x, y_at(level) + 3.5, fmt::format("{}", c), Anchor::kMiddle, "b");
    }
  }

  std::vector<const ModelResult*> levels_;
  std::vector<std::vector<int64_t>> labels_;
  std::vector<Flows> flows_;
  std::vector<std::vector<int64_t>> sizes_;
  std::vector<std::vector<double>> place_;  // by level and cluster: from the left
  double rows_ = 0;
};

}  // namespace

std::string criteria_part(const ReportInput& input) {
  if (input.chosen == nullptr || input.chosen->evidence.empty()) return {};
  const ChosenK& chosen = *input.chosen;
  const std::vector<CriterionSeries> all = criterion_series(chosen);
  std::vector<double> ks;
  for (const Evidence& evidence : chosen.evidence) ks.push_back(static_cast<double>(evidence.k));
  std::string charts;
  for (const CriterionSeries& series : all) charts += criterion_chart(series, ks, static_cast<double>(chosen.k));
  return section(
      "Criteria against k",
      chosen.answer + ": " + chosen.reason +
          ". Each chart shows one criterion of the best model of each k. A large dot marks the k that it chooses, the "
          "dashed line the recommended one. The band of the gap is its standard error over reference data without "
          "clusters; within that of the silhouette lie 19 of 20 samples. A star in the table marks a vote.",
      side_by_side(charts) + folded("All criteria as a table", votes_table(chosen, all)));
}

std::string tree_part(const ShownModel& shown) {
  if (shown.model.labels.empty()) return {};
  const Tree tree(shown);
  if (tree.levels() < 2) return {};
  return section(
      "Tree of the clusters over k",
      "Each line of marks is the best model of one k; a flow between two marks is as wide as many rows go "
      "from one cluster to the other. A good k is followed by splits of single clusters; where flows cross, "
      "models of neighbouring k cut the points in different ways. Flows of less than 2 % of a cluster, k above "
      "40, and some of more than 24 k are not drawn. Point at a flow or a mark for its numbers.",
      tree.chart(shown.model.k_requested));
}

}  // namespace manymeans::report
