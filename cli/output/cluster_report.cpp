#include "output/cluster_report.h"

#include <manymeans/io.h>

#include "output/text_table.h"
#include "streams/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxShown = 12;
constexpr size_t kTerminal = 80;
constexpr int64_t kMaxJsonCells = 100'000;  // of centroids: some megabytes of text

// At most `width` bytes of a name, and no part of a character.
std::string shortened(const std::string& name, size_t width) {
  constexpr std::string_view kEllipsis = "...";
  if (name.size() <= width || width <= kEllipsis.size()) return name;
  size_t end = width - kEllipsis.size();
  const auto continues = [&](size_t at) { return (static_cast<unsigned char>(name[at]) & 0xC0) == 0x80; };
  while (end > 0 && continues(end)) --end;
  return name.substr(0, end) + std::string(kEllipsis);
}

// Four digits, or all digits before the decimal point of a number that people write out.
std::string shown_number(double value) {
  const double size = std::fabs(value);
  return size >= 1e4 && size < 1e9 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string shown_centroid(const ModelSummary& summary, int64_t k, int64_t j) {
  return shown_mean(summary.centroids.at(k, j), summary.columns[static_cast<size_t>(j)].deviation);
}

// "age: 61.2 (+1.1), income: 51200 (+1.8)": the columns that set a cluster apart, as many as there is room for, one at
// least.
std::string apart_text(const ClusterReport& report, size_t cluster, size_t room) {
  const ModelSummary& summary = report.summary;
  std::string text;
  for (const int64_t j : summary.clusters[cluster].apart) {
    const auto k = static_cast<int64_t>(cluster);
    const std::string number =
        fmt::format(": {} ({:+.1f})", shown_centroid(summary, k, j), summary.differences.at(k, j));
    const std::string name = printable(report.columns[static_cast<size_t>(j)], Newlines::kEscaped);
    if (text.empty()) {
      constexpr size_t kShortest = 8;
      text = shortened(name, std::max(kShortest, room - std::min(room, number.size()))) + number;
    } else if (text.size() + 2 + name.size() + number.size() <= room) {
      text += ", " + name + number;
    } else {
      break;
    }
  }
  return text.empty() ? "-" : text;
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
  for (size_t i = 0; i < shown.size(); ++i) {
    rows[i + 1].push_back(apart_text(report, shown[i], kTerminal - std::min(kTerminal, used)));
  }
  std::string text = "\n" + explanation(report) + format_table("rrrrl", rows);
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
