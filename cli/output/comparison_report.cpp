#include "output/comparison_report.h"

#include "output/model_description.h"
#include "output/text_table.h"
#include "streams/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace manymeans::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kMaxRows = 20;  // of a table; the JSON has all

std::string and_more(size_t all) {
  return all > kMaxRows ? fmt::format("... and {} more; --json has all\n", all - kMaxRows) : std::string();
}

std::string share(int64_t part, int64_t all) {
  return fmt::format("{:.4g} %", all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0.0);
}

std::string name_of_label(int64_t label, const std::vector<std::string>& classes) {
  return classes.empty() ? std::to_string(label) : printable(classes[static_cast<size_t>(label)], Newlines::kEscaped);
}

std::string text_of_cells(const std::vector<LabelCell>& cells, const Comparison& comparison) {
  const int64_t all = comparison.labels->rows;
  Rows rows = {{"A", "B", "rows", "share"}};
  for (const LabelCell& cell : cells) {
    if (rows.size() > kMaxRows) break;
    rows.push_back({name_of_label(cell.a, comparison.classes_a), name_of_label(cell.b, comparison.classes_b),
                    std::to_string(cell.rows), share(cell.rows, all)});
  }
  return format_table("rrrr", rows) + and_more(cells.size());
}

std::string text_of(const Comparison& comparison) {
  const LabelComparison& labels = *comparison.labels;
  std::string out = fmt::format("adjusted Rand index: {:.6f} ({} rows; {} and {} clusters)\n", labels.adjusted_rand,
                                labels.rows, labels.clusters_a, labels.clusters_b);
  if (labels.left_out > 0) out += fmt::format("rows without a label, left out: {}\n", labels.left_out);
  if (!comparison.rows_by.empty()) out += fmt::format("rows were matched by name, {} of A\n", comparison.rows_by);
  if (comparison.only_a > 0) out += fmt::format("rows that only A has, left out: {}\n", comparison.only_a);
  if (comparison.only_b > 0) out += fmt::format("rows that only B has, left out: {}\n", comparison.only_b);
  out += fmt::format("rows that moved: {} ({})\n\nclusters one to one, so that most rows stay:\n", labels.moved,
                     share(labels.moved, labels.rows)) +
         text_of_cells(labels.pairs, comparison);
  if (!labels.moves.empty()) out += "\nrows that moved, most first:\n" + text_of_cells(labels.moves, comparison);
  return out;
}

double root_mean_square(const std::vector<PrototypeMatch>& matches) {
  double sum = 0;
  for (const PrototypeMatch& match : matches) sum += match.distance * match.distance;
  return matches.empty() ? 0 : std::sqrt(sum / static_cast<double>(matches.size()));
}

std::string text_of(const std::vector<PrototypeMatch>& matches) {
  Rows rows = {{"A", "B", "distance"}};
  for (const PrototypeMatch& match : matches) {
    if (rows.size() > kMaxRows) break;
    rows.push_back({std::to_string(match.a), std::to_string(match.b), fmt::format("{:.6g}", match.distance)});
  }
  return fmt::format("centroids one to one, root mean square of their distances {:.6g}:\n", root_mean_square(matches)) +
         format_table("rrr", rows) + and_more(matches.size());
}

Json cells_json(const std::vector<LabelCell>& cells) {
  Json list = Json::array();
  for (const LabelCell& cell : cells) list.push_back({{"a", cell.a}, {"b", cell.b}, {"rows", cell.rows}});
  return list;
}

Json labels_json(const Comparison& comparison) {
  const LabelComparison& labels = *comparison.labels;
  Json json = {{"n_rows", labels.rows}, {"left_out", labels.left_out}};
  if (comparison.only_a > 0 || comparison.only_b > 0) {
    json["only_a"] = comparison.only_a;
    json["only_b"] = comparison.only_b;
  }
  json["clusters_a"] = labels.clusters_a;
  json["clusters_b"] = labels.clusters_b;
  json["adjusted_rand"] = labels.adjusted_rand;
  json["moved"] = labels.moved;
  json["pairs"] = cells_json(labels.pairs);
  json["moves"] = cells_json(labels.moves);
  if (!comparison.classes_a.empty()) json["classes_a"] = comparison.classes_a;
  if (!comparison.classes_b.empty()) json["classes_b"] = comparison.classes_b;
  return json;
}

Json centroids_json(const std::vector<PrototypeMatch>& matches) {
  Json list = Json::array();
  for (const PrototypeMatch& match : matches) {
    list.push_back({{"a", match.a}, {"b", match.b}, {"distance", match.distance}});
  }
  return {{"root_mean_square", root_mean_square(matches)}, {"pairs", std::move(list)}};
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string out = fmt::format("A: {}\nB: {}\n", comparison.title_a, comparison.title_b);
  if (comparison.labels) out += "\n" + text_of(comparison);
  if (comparison.centroids) out += "\n" + text_of(*comparison.centroids);
  if (!comparison.no_centroids.empty())
    out += fmt::format("\ncentroids were not matched: {}\n", comparison.no_centroids);
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  Json json = {{"a", comparison.title_a}, {"b", comparison.title_b}};
  json["labels"] = comparison.labels ? labels_json(comparison) : Json(nullptr);
  json["centroids"] = comparison.centroids ? centroids_json(*comparison.centroids) : Json(nullptr);
  json["warnings"] = comparison.warnings;
  return text_of(json);
}

}  // namespace manymeans::cli
