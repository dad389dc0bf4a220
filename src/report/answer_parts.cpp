// The answer: a sentence for each cluster, and a card.
#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace manymeans::report {
namespace {

constexpr size_t kMaxSaid = 3;  // columns in a sentence

// What marks a cluster in all charts.
std::string key_of(const ShownModel& shown, size_t cluster) {
  return fmt::format(
      "<svg class=\"key\" aria-hidden=\"true\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\">{}</svg>",
      marker(shown.rank[cluster], {8, 8, 6}, "", ""));
}

std::string rather(double difference) {
  const double size = std::fabs(difference);
  return fmt::format("{}{}", size >= 1.5 ? "very " : size < 0.5 ? "rather " : "", difference < 0 ? "low" : "high");
}

std::string trait_text(const Trait& trait, double value, int digits) {
  return trait.is_text ? percent(value) : value_text(value, trait.columns.all.deviation, digits);
}

// "sql, table, query"
std::string terms_of(const ShownModel& shown, const ClusterTraits& cluster, int64_t most) {
  std::vector<std::string> names;
  for (const int64_t j : cluster.terms) names.push_back(shown.short_name(static_cast<size_t>(j)));
  names.resize(static_cast<size_t>(std::min(most, static_cast<int64_t>(std::ssize(names)))));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string sentence_of(const ShownModel& shown, size_t cluster) {
  std::string text = fmt::format("<strong>Cluster {}</strong>: {} of the {}", cluster, percent(shown.shares[cluster]),
                                 shown.summary && shown.summary->weighted ? "weight" : "rows");
  if ((!shown.summary && shown.input.regression == nullptr) || shown.model.counts[cluster] == 0) return text + ".";
  const ClusterTraits own = shown.summary ? shown.summary->clusters[cluster] : ClusterTraits();
  if (!own.terms.empty()) return text + escaped(fmt::format(": top terms {}.", terms_of(shown, own, kMaxApart)));
  std::vector<std::string> said;
  for (const int64_t j : own.apart) {
    if (said.size() == kMaxSaid) break;
    const auto k = static_cast<int64_t>(cluster);
    const ColumnTraits& column = shown.summary->columns[static_cast<size_t>(j)];
    said.push_back(fmt::format("{} {} ({}, all rows {})", rather(shown.summary->differences.at(k, j)),
                               shown.short_name(static_cast<size_t>(j)),
                               value_text(shown.summary->centroids.at(k, j), column.deviation, 3),
                               value_text(column.mean, column.deviation, 3)));
  }
  if (!shown.summary) said.push_back("R2 " + report::shown(plane_of(shown, cluster).r2));
  if (said.empty()) said.emplace_back("near the mean of all rows in every column");
  const std::vector<size_t> others = surprising(shown.input.traits, cluster);
  if (!others.empty() && std::fabs(shown.input.traits[others[0]].columns.surprise[cluster]) >= kMinSurprise) {
    const Trait& trait = shown.input.traits[others[0]];
    said.push_back(fmt::format("{} {} (all rows {})", shortened(trait.name, kMaxLetters),
                               trait_text(trait, trait.columns.means[cluster], 3),
                               trait_text(trait, trait.columns.all.mean, 3)));
  }
  return text + escaped(fmt::format(": {}.", fmt::join(said, ", ")));
}

// Of a linear model: its numbers and equation.
std::string about_plane(const ShownModel& shown, size_t cluster) {
  const LinearCluster& own = plane_of(shown, cluster);
  return fmt::format("{}, {}, R2 {}{}</p>\n<p>{}</p>\n", counted(shown.model.counts[cluster], "row"),
                     percent(shown.shares[cluster]), report::shown(own.r2),
                     std::isnan(own.deviation) ? "" : ", residual " + report::shown(own.deviation),
                     escaped(equation_of(shown, cluster)));
}

std::string about_centroid(const ShownModel& shown, const ClusterTraits& own) {
  const std::string terms =
      own.terms.empty() ? "" : fmt::format("<p>top terms: {}</p>\n", escaped(terms_of(shown, own, kMaxTerms)));
  return fmt::format("{}, {}{}</p>\n{}", counted(own.rows, "row"), percent(own.share),
                     std::isnan(own.spread) ? "" : ", spread " + value_text(own.spread, 0, 6), terms);
}

std::string card_of(const ShownModel& shown, size_t cluster) {
  const auto k = static_cast<int64_t>(cluster);
  const ClusterTraits own = shown.summary ? shown.summary->clusters[cluster] : ClusterTraits();
  std::vector<std::vector<std::string>> rows;
  for (const int64_t j : own.terms.empty() ? own.apart : std::vector<int64_t>()) {
    const ColumnTraits& column = shown.summary->columns[static_cast<size_t>(j)];
    rows.push_back({shown.short_name(static_cast<size_t>(j)), centroid_text(*shown.summary, k, j),
                    value_text(column.mean, column.deviation, 6),
                    fmt::format("{:+.1f} sd", shown.summary->differences.at(k, j))});
  }
  for (const size_t at : surprising(shown.input.traits, cluster)) {
    const Trait& trait = shown.input.traits[at];
    rows.push_back({shortened(trait.name, kMaxLetters), trait_text(trait, trait.columns.means[cluster], 6),
                    trait_text(trait, trait.columns.all.mean, 6), surprise_text(trait, cluster)});
  }
  std::string text = fmt::format("<article><h3>{} Cluster {}</h3>\n<p>{}", key_of(shown, cluster), cluster,
                                 shown.summary ? about_centroid(shown, own) : about_plane(shown, cluster));
  if (!rows.empty()) text += table({"column", "here", "all rows", "apart"}, rows);
  std::vector<std::string> names;
  for (const int64_t row : own.typical) {
    names.push_back(
        escaped(shortened(shown.input.row_name ? shown.input.row_name(row) : fmt::format("{}", row), kMaxLetters)));
  }
  if (!names.empty()) text += fmt::format("<p class=\"note\">typical rows: {}</p>\n", fmt::join(names, ", "));
  return text + "</article>\n";
}

}  // namespace

std::string sentences_part(const ShownModel& shown) {
  std::string items;
  for (const size_t k : shown.clusters) {
    items += fmt::format("<li>{} {}</li>\n", key_of(shown, k), sentence_of(shown, k));
  }
  return "<ul class=\"answer\">\n" + items + "</ul>\n";
}

// What the lines of cards mean.
std::string about_cards(const ShownModel& shown) {
  if (!shown.summary) {
    return "R2 and residual (a root mean square) are of the rows of the cluster, which its model has seen. Equations "
           "are in original units.";
  }
  const auto has_terms = [](const ClusterTraits& cluster) { return !cluster.terms.empty(); };
  const char* const columns =
      std::ranges::any_of(shown.summary->clusters, has_terms)
          ? "Top terms are the columns whose centroid exceeds the mean of all rows most."
          : "The columns that set each cluster apart: its centroid, the mean of all rows, and how many standard "
            "deviations (sd) lie between them.";
  return fmt::format(
      "{} Spread is the root mean square distance of the rows to their centroid{}.{} Typical rows are the nearest to "
      "it.",
      columns, shown.summary->scaled ? ", in scaled units" : "", shown.about_logs());
}

std::string cards_part(const ShownModel& shown) {
  if (!shown.summary && shown.input.regression == nullptr) return {};
  std::string cards;
  for (const size_t k : shown.clusters) cards += card_of(shown, k);
  std::string text = about_cards(shown);
  if (!shown.input.traits.empty()) {
    text +=
        " Columns that were not fitted have their mean or share, how far or how many times it lies from that of "
        "all rows, and a test value (z), which surprises beyond 2 or 3.";
  }
  return section("Cards of the clusters", fmt::format("{} Shown: {}.", text, shown.which_clusters()),
                 "<div class=\"cards\">\n" + cards + "</div>\n");
}

}  // namespace manymeans::report
