#include "output/cluster_report.h"

#include <manymeans/io.h>

#include "output/text_table.h"
#include "streams/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxShown = 12;
constexpr int64_t kMaxJsonCells = 100'000;  // of centroids: some megabytes of text

std::string shown_name(const std::string& name) {
  return printable(name, Newlines::kEscaped);
}

std::vector<std::string> typical_rows(const ClusterReport& report, size_t cluster) {
  std::vector<std::string> names;
  if (!report.row_name) return names;
  for (const int64_t row : report.summary.clusters[cluster].typical) names.push_back(report.row_name(row));
  return names;
}

std::string card_of(const ClusterReport& report, size_t cluster) {
  const ModelSummary& summary = report.summary;
  const ClusterTraits& own = summary.clusters[cluster];
  std::string text =
      fmt::format("cluster {}: {} row{} ({:.1f} %)", cluster, own.rows, own.rows == 1 ? "" : "s", 100 * own.share);
  if (!std::isnan(own.spread)) text += ", spread " + shown_mean(own.spread, 0);
  const auto add = [&](const std::string& name, double here, const ColumnTraits& all, const std::string& far) {
    text += fmt::format("\n  {}: {}, all rows {} ({})", shown_name(name), shown_mean(here, all.deviation),
                        shown_mean(all.mean, all.deviation), far);
  };
  std::vector<std::string> terms;
  for (const int64_t j : own.terms) terms.push_back(shown_name(report.columns[static_cast<size_t>(j)]));
  if (!terms.empty()) text += fmt::format("\n  top terms: {}", fmt::join(terms, ", "));
  for (const int64_t j : terms.empty() ? own.apart : std::vector<int64_t>()) {
    const auto k = static_cast<int64_t>(cluster);
    const auto at = static_cast<size_t>(j);
    add(report.columns[at], summary.centroids.at(k, j), summary.columns[at],
        fmt::format("{:+.1f} sd", summary.differences.at(k, j)));
  }
  for (const size_t at : surprising(report.traits, cluster)) {
    const ColumnOfClusters& column = report.traits[at].columns;
    add(report.traits[at].name, column.means[cluster], column.all, surprise_text(report.traits[at], cluster));
  }
  std::vector<std::string> names = typical_rows(report, cluster);
  std::ranges::transform(names, names.begin(), shown_name);
  if (!names.empty()) text += fmt::format("\n  typical rows: {}", fmt::join(names, ", "));
  return text + "\n";
}

// All clusters in their order, or the largest ones, the largest first.
std::vector<size_t> shown_clusters(const ModelSummary& summary) {
  std::vector<size_t> order(summary.clusters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (order.size() <= kMaxShown) return order;
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return summary.clusters[a].share > summary.clusters[b].share; });
  order.resize(kMaxShown);
  return order;
}

std::string left_out(const ModelSummary& summary, const std::vector<size_t>& shown) {
  double share = 1;
  for (const size_t k : shown) share -= summary.clusters[k].share;
  return fmt::format("{} smaller clusters ({:.1f} %) are not shown; --summary FILE has all\n",
                     summary.clusters.size() - shown.size(), std::max(0.0, 100 * share));
}

// Explains the numbers of the report.
std::string explanation(const ClusterReport& report) {
  const ModelSummary& summary = report.summary;
  std::string text = "clusters of the best model";
  if (report.ks > 1) text += fmt::format(" of k = {}, the first of {} k", report.k, report.ks);
  text += "\nspread: root mean square distance to the centroid";
  if (summary.scaled) text += ", in scaled units";
  const auto has_terms = [](const ClusterTraits& cluster) { return !cluster.terms.empty(); };
  text += std::ranges::any_of(summary.clusters, has_terms)
              ? "\ntop terms: columns whose centroid exceeds the mean of all rows most"
              : "\n+1.4 sd: 1.4 standard deviations above the mean of all rows";
  if (summary.weighted) text += "; all by weight";
  std::vector<std::string> logs;
  for (size_t j = 0; j < summary.logs.size(); ++j) {
    if (summary.logs[j] != Logarithm::kNone) logs.push_back(shown_name(report.columns[j]));
  }
  if (!logs.empty()) text += fmt::format("\ngeometric means, and sd of the logarithm: {}", fmt::join(logs, ", "));
  if (std::ranges::any_of(report.traits, &Trait::is_text)) text += "\n1.8 times: 1.8 times as often as in all rows";
  if (!report.traits.empty()) text += "\nz: test value of a column that was not fitted; beyond 2 or 3 it is surprising";
  if (report.row_name) {
    text += "\ntypical rows: the nearest to the centroid, by ";
    text += report.id_name.empty() ? "number from 1" : "column '" + shown_name(report.id_name) + "'";
  }
  return text + "\n";
}

}  // namespace

std::string cluster_cards(const ClusterReport& report) {
  const std::vector<size_t> shown = shown_clusters(report.summary);
  std::string text = "\n" + explanation(report);
  for (const size_t k : shown) text += card_of(report, k);
  if (shown.size() < report.summary.clusters.size()) text += left_out(report.summary, shown);
  return text;
}

namespace {

Json row_json(const Matrix& matrix, int64_t row) {
  Json values = Json::array();
  for (int64_t j = 0; j < matrix.columns(); ++j) values.push_back(matrix.at(row, j));
  return values;
}

Json cluster_json(const ClusterReport& report, size_t index, bool whole) {
  const ModelSummary& summary = report.summary;
  const ClusterTraits& cluster = summary.clusters[index];
  const auto k = static_cast<int64_t>(index);
  Json apart = Json::array();
  for (const int64_t j : cluster.apart) {
    apart.push_back({{"column", report.columns[static_cast<size_t>(j)]},
                     {"centroid", summary.centroids.at(k, j)},
                     {"difference", summary.differences.at(k, j)}});
  }
  Json json = {{"cluster", index},       {"rows", cluster.rows},     {"weight", cluster.weight},
               {"share", cluster.share}, {"spread", cluster.spread}, {"apart", std::move(apart)}};
  for (const ClusterColumn& column : report.more) json[column.name] = column.values[index];
  for (const int64_t j : cluster.terms) json["terms"].push_back(report.columns[static_cast<size_t>(j)]);
  json["typical"] = typical_rows(report, index);
  for (const Trait& trait : report.traits) {
    const ColumnOfClusters& column = trait.columns;
    json["profile"].push_back({{"column", trait.name},
                               {trait.is_text ? "share" : "mean", column.means[index]},
                               {"overall", column.all.mean},
                               {"z", column.surprise[index]}});
    if (trait.is_text) json["profile"].back()["lift"] = column.means[index] / column.all.mean;
  }
  if (!whole) return json;
  json["centroid"] = row_json(summary.centroids, k);
  json["difference"] = row_json(summary.differences, k);
  return json;
}

Json report_json(const ClusterReport& report, bool whole) {
  const ModelSummary& summary = report.summary;
  Json columns = Json::array(), clusters = Json::array();
  for (size_t j = 0; j < summary.columns.size(); ++j) {
    columns.push_back({{"column", report.columns[j]},
                       {"mean", summary.columns[j].mean},
                       {"deviation", summary.columns[j].deviation}});
    if (j < summary.logs.size()) columns.back()["log"] = std::string(name_of(summary.logs[j]));
  }
  for (size_t k = 0; k < summary.clusters.size(); ++k) clusters.push_back(cluster_json(report, k, whole));
  return {
      {"k", report.k},  {"seed", std::to_string(report.seed)}, {"spread_units", summary.scaled ? "scaled" : "original"},
      {"whole", whole}, {"columns", std::move(columns)},       {"clusters", std::move(clusters)}};
}

// Names need not be UTF-8; JSON must be.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

void fill_cells(const ClusterReport& report, double* to) {
  const ModelSummary& summary = report.summary;
  const size_t d = report.columns.size();
  for (size_t k = 0; k < summary.clusters.size(); ++k) {
    const ClusterTraits& cluster = summary.clusters[k];
    for (const double value :
         {static_cast<double>(k), static_cast<double>(cluster.rows), cluster.weight, cluster.share, cluster.spread}) {
      *to++ = value;
    }
    for (const ClusterColumn& column : report.more) *to++ = column.values[k];
    to = std::ranges::copy(summary.centroids.values<double>().subspan(k * d, d), to).out;
    to = std::ranges::copy(summary.differences.values<double>().subspan(k * d, d), to).out;
    for (const Trait& trait : report.traits) {
      const ColumnOfClusters& column = trait.columns;
      *to++ = column.means[k];
      if (trait.is_text) *to++ = column.means[k] / column.all.mean;
      *to++ = column.surprise[k];
    }
  }
}

void write_csv(const std::string& path, std::span<const ClusterReport> reports, const std::string& group_column) {
  const ClusterReport& report = reports[0];
  Dataset table;
  table.column_names = {"cluster", "rows", "weight", "share", "spread"};
  for (const ClusterColumn& column : report.more) table.column_names.push_back(column.name);
  for (const std::string& name : report.columns) table.column_names.push_back(name);
  for (const std::string& name : report.columns) table.column_names.push_back(name + " difference");
  for (const Trait& trait : report.traits) {
    table.column_names.push_back(trait.name + (trait.is_text ? "" : " (mean)"));
    if (trait.is_text) table.column_names.push_back(trait.name + " (lift)");
    table.column_names.push_back(trait.name + " (z)");
  }
  int64_t rows = 0;
  for (const ClusterReport& each : reports) {
    rows += std::ssize(each.summary.clusters);
    if (!group_column.empty()) table.ids.resize(static_cast<size_t>(rows), each.group);
  }
  table.id_name = group_column;
  Matrix cells(rows, std::ssize(table.column_names), DataType::kFloat64);
  double* to = cells.values<double>().data();
  for (const ClusterReport& each : reports) {
    fill_cells(each, to);
    to += each.summary.clusters.size() * table.column_names.size();
  }
  table.view = cells.view();
  write_points(path, table);
}

}  // namespace

std::string profile_table(std::span<const Trait> traits, const ModelResult& model) {
  std::vector<std::vector<std::string>> rows = {{"cluster", "rows", "profile: mean or share in the cluster"}};
  for (size_t k = 0; k < model.counts.size(); ++k) {
    std::string number = fmt::format("{}", k), count = fmt::format("{}", model.counts[k]);
    const std::vector<size_t> order = surprising(traits, k);
    if (order.empty()) rows.push_back({number, count, "-"});
    for (const size_t at : order) {
      const ColumnOfClusters& column = traits[at].columns;
      rows.push_back({std::exchange(number, ""), std::exchange(count, ""),
                      fmt::format("{}: {:.4g}, all rows {:.4g} ({})", printable(traits[at].name, Newlines::kEscaped),
                                  column.means[k], column.all.mean, surprise_text(traits[at], k))});
    }
  }
  return "\n" + format_table("rrl", std::move(rows));
}

std::string clusters_json(const ClusterReport* report) {
  Json summary;
  if (report != nullptr) {
    const Matrix& centroids = report->summary.centroids;
    summary = report_json(*report, centroids.rows() * centroids.columns() <= kMaxJsonCells);
  }
  return text_of({{"summary", std::move(summary)}});
}

void write_clusters(const std::string& path, std::span<const ClusterReport> reports, const std::string& group_column) {
  if (!path.ends_with(".json")) return write_csv(path, reports, group_column);
  Json json = Json::array();
  for (const ClusterReport& report : reports) {
    json.push_back(group_column.empty() ? Json::object() : Json{{"group", report.group}});
    json.back().update(report_json(report, true));
  }
  write_text(path, text_of(group_column.empty() ? json[0] : json) + "\n");
}

}  // namespace manymeans::cli
