#include "output/cluster_report.h"

#include <manymeans/io.h>

#include "output/text_table.h"
#include "streams/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxShown = 12;
constexpr size_t kTerminal = 80;
constexpr int64_t kMaxJsonCells = 100'000;  // of centroids: some megabytes of text

// Four digits, or all digits before the decimal point of a number that people write out.
std::string shown_number(double value) {
  const double size = std::fabs(value);
  return size >= 1e4 && size < 1e9 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string shown_centroid(const ModelSummary& summary, int64_t k, int64_t j) {
  return shown_mean(summary.centroids.at(k, j), summary.columns[static_cast<size_t>(j)].deviation);
}

// "age: 61.2 (+1.1), income: 51200 (+1.8)": the columns that set a cluster apart, in lines of `room` bytes. A longer
// name has a line of its own.
std::vector<std::string> apart_lines(const ClusterReport& report, size_t cluster, size_t room) {
  const ModelSummary& summary = report.summary;
  const std::vector<int64_t>& apart = summary.clusters[cluster].apart;
  if (apart.empty()) return {"-"};
  std::vector<std::string> lines(1);
  for (const int64_t j : apart) {
    const auto k = static_cast<int64_t>(cluster);
    const std::string name = printable(report.columns[static_cast<size_t>(j)], Newlines::kEscaped);
    const std::string entry = fmt::format("{}: {} ({:+.1f}){}", name, shown_centroid(summary, k, j),
                                          summary.differences.at(k, j), j == apart.back() ? "" : ",");
    std::string& line = lines.back();
    if (line.empty()) {
      line = entry;
    } else if (line.size() + 1 + entry.size() <= room) {
      line += " " + entry;
    } else {
      lines.push_back(entry);
    }
  }
  return lines;
}

std::vector<std::string> row_of(const ClusterReport& report, size_t k) {
  const ClusterTraits& cluster = report.summary.clusters[k];
  return {fmt::format("{}", k), fmt::format("{}", cluster.rows), fmt::format("{:.1f} %", 100 * cluster.share),
          std::isnan(cluster.spread) ? "-" : shown_number(cluster.spread)};
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
  text += "\n(+1.4): 1.4 standard deviations above the mean of all rows";
  if (summary.weighted) text += "; all by weight";
  return text + "\n";
}

}  // namespace

std::string cluster_table(const ClusterReport& report) {
  const std::vector<size_t> shown = shown_clusters(report.summary);
  std::vector<std::vector<std::string>> rows = {{"cluster", "rows", "share", "spread"}};
  for (const size_t k : shown) rows.push_back(row_of(report, k));
  size_t used = 0;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    used += 2 + std::ranges::max(rows, {}, [&](const auto& row) { return row[i].size(); })[i].size();
  }
  rows[0].emplace_back("what sets it apart: centroid");
  std::vector<std::vector<std::string>> wrapped = {rows[0]};
  for (size_t i = 0; i < shown.size(); ++i) {
    for (std::string& line : apart_lines(report, shown[i], kTerminal - std::min(kTerminal, used))) {
      wrapped.push_back(std::exchange(rows[i + 1], std::vector<std::string>(rows[0].size() - 1)));
      wrapped.back().push_back(std::move(line));
    }
  }
  std::string text = "\n" + explanation(report) + format_table("rrrrl", std::move(wrapped));
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

void write_csv(const std::string& path, const ClusterReport& report) {
  const ModelSummary& summary = report.summary;
  Dataset table;
  table.column_names = {"cluster", "rows", "weight", "share", "spread"};
  for (const ClusterColumn& column : report.more) table.column_names.push_back(column.name);
  const size_t first = table.column_names.size(), d = report.columns.size();
  for (const std::string& name : report.columns) table.column_names.push_back(name);
  for (const std::string& name : report.columns) table.column_names.push_back(name + " difference");
  Matrix cells(std::ssize(summary.clusters), std::ssize(table.column_names), DataType::kFloat64);
  double* to = cells.values<double>().data();
  for (size_t k = 0; k < summary.clusters.size(); ++k, to += table.column_names.size()) {
    const ClusterTraits& cluster = summary.clusters[k];
    const double begin[] = {static_cast<double>(k), static_cast<double>(cluster.rows), cluster.weight, cluster.share,
                            cluster.spread};
    std::ranges::copy(begin, to);
    for (size_t i = 0; i < report.more.size(); ++i) to[std::size(begin) + i] = report.more[i].values[k];
    std::ranges::copy(summary.centroids.values<double>().subspan(k * d, d), to + first);
    std::ranges::copy(summary.differences.values<double>().subspan(k * d, d), to + first + d);
  }
  table.view = cells.view();
  write_points(path, table);
}

}  // namespace

std::string clusters_json(const ClusterReport* report) {
  Json summary;
  if (report != nullptr) {
    const Matrix& centroids = report->summary.centroids;
    summary = report_json(*report, centroids.rows() * centroids.columns() <= kMaxJsonCells);
  }
  return text_of({{"summary", std::move(summary)}});
}

void write_clusters(const std::string& path, const ClusterReport& report) {
  if (path.ends_with(".json")) {
    write_text(path, text_of(report_json(report, true)) + "\n");
  } else {
    write_csv(path, report);
  }
}

}  // namespace manymeans::cli
