// The clusters of a model: sizes, centroids, silhouettes.
#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace manymeans::report {
namespace {

constexpr double kWidth = 360;  // of a chart, as a telephone shows it

std::string size_bars(const ShownModel& shown) {
  constexpr double kRow = 16, kLeft = 46, kRight = 132, kTop = 22;
  const double height = kTop + kRow * static_cast<double>(shown.clusters.size()) + 6;
  Chart chart(kWidth, height, "Sizes of the clusters as bars");
  chart.text(kLeft - 6, 14, "cluster", Anchor::kEnd, "m");
  chart.text(kLeft, 14,
             shown.summary && shown.summary->weighted ? "share of the weight of all rows" : "share of all rows",
             Anchor::kStart, "m");
  const double largest = std::max(shown.shares[shown.clusters[0]], 1e-300);
  for (size_t i = 0; i < shown.clusters.size(); ++i) {
    const size_t k = shown.clusters[i];
    const double y = kTop + kRow * static_cast<double>(i);
    const double width = std::max(1.0, shown.shares[k] / largest * (kWidth - kLeft - kRight));
    const std::string rows = counted(shown.model.counts[k], "row");
    chart.text(kLeft - 6, y + 11, fmt::format("{}", k), Anchor::kEnd);
    chart.add(
        fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\"><title>cluster {}: {}, {}"
                    "</title></rect>\n",
                    shown.colour(k), px(kLeft), px(y + 1), px(width), k, rows, percent(shown.shares[k])));
    chart.text(kLeft + width + 5, y + 11, fmt::format("{}, {}", percent(shown.shares[k]), rows));
  }
  return fit(chart.svg());
}

// From white over the colour for as many deviations as are told apart.
constexpr double kFullColour = 3, kMaxOpacity = 0.6;
constexpr double kNames = 142, kCell = 43, kRow = 16;
constexpr size_t kBlock = 5;  // most clusters side by side

void add_cell(Chart& chart, const ShownModel& shown, size_t cluster, size_t column, const Disc& cell) {
  const auto k = static_cast<int64_t>(cluster), j = static_cast<int64_t>(column);
  const double difference = shown.summary->differences.at(k, j);
  const std::string what = fmt::format("{}, cluster {}: {} ({:+.2f} deviations)", shown.short_name(column), cluster,
                                       centroid_text(*shown.summary, k, j), difference);
  const double full = kMaxOpacity * std::min(std::fabs(difference) / kFullColour, 1.0);
  chart.add(fmt::format(
      "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2f}\"><title>{}</title>"
      "</rect>\n",
      difference < 0 ? "neg" : "pos", px(cell.x), px(cell.y), px(kCell - 1), px(kRow - 1), std::isnan(full) ? 0 : full,
      escaped(what)));
  const double value = shown.summary->centroids.at(k, j), unit = shown.summary->columns[column].deviation;
  chart.text(cell.x + kCell / 2 - .5, cell.y + 11, value_text(value, unit, 3) == "0" ? "0" : brief(value),
             Anchor::kMiddle);
}

std::string colour_key() {
  constexpr int kSteps = 13;
  Chart chart(kWidth, 34, "Colours of the heat map");
  for (int i = 0; i < kSteps; ++i) {
    const double value = kFullColour * (2.0 * i / (kSteps - 1) - 1);
    chart.add(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"4\" width=\"16\" height=\"10\" fill-opacity=\"{:.2f}\"/>\n",
                          value < 0 ? "neg" : "pos", px(kNames + 16 * i),
                          kMaxOpacity * std::fabs(value) / kFullColour));
  }
  chart.text(kNames, 28, "-3 or less", Anchor::kStart, "m");
  chart.text(kNames + 8 * kSteps, 28, "0", Anchor::kMiddle, "m");
  chart.text(kNames + 16 * kSteps, 28, "3 sd or more", Anchor::kEnd, "m");
  return fit(chart.svg());
}

// Some clusters side by side: as many as a telephone has room for.
std::string heat_block(const ShownModel& shown, std::span<const size_t> clusters) {
  constexpr double kTop = 20;
  Chart chart(kNames + kCell * static_cast<double>(clusters.size()) + 2,
              kTop + kRow * static_cast<double>(shown.apart.size()) + 2,
              "Centroids as a heat map: columns down, clusters across, differences to the mean in deviations");
  chart.text(kNames - 6, kTop - 7, "column \\ cluster", Anchor::kEnd, "m");
  for (size_t i = 0; i < clusters.size(); ++i) {
    chart.text(kNames + kCell * (static_cast<double>(i) + 0.5), kTop - 7, fmt::format("{}", clusters[i]),
               Anchor::kMiddle);
  }
  for (size_t at = 0; at < shown.apart.size(); ++at) {
    const double y = kTop + kRow * static_cast<double>(at);
    chart.text(kNames - 6, y + 11, shown.short_name(shown.apart[at]), Anchor::kEnd);
    for (size_t i = 0; i < clusters.size(); ++i) {
      add_cell(chart, shown, clusters[i], shown.apart[at], {kNames + kCell * static_cast<double>(i), y, 0});
    }
  }
  return "<figure>" + chart.svg() + "</figure>\n";
}

std::string heat_map(const ShownModel& shown) {
  std::string blocks;
  const std::span<const size_t> all = shown.clusters;
  const size_t count = (all.size() + kBlock - 1) / kBlock;
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i * all.size() / count, last = (i + 1) * all.size() / count;
    blocks += heat_block(shown, all.subspan(first, last - first));
  }
  return colour_key() + side_by_side(blocks);
}

// A band of the silhouettes of a cluster, the largest first: some steps, as many as can be seen.
std::string band_of(const std::vector<double>& values, const Axis& x, double top, double height) {
  const size_t steps = std::min(values.size(), static_cast<size_t>(height * 2));
  std::string path = fmt::format("M{} {}", px(x.at(0)), px(top));
  for (size_t i = 0; i < steps; ++i) {
    const double value = values[i * values.size() / steps];
    path += fmt::format("H{}V{}", px(x.at(value)),
                        px(top + height * static_cast<double>(i + 1) / static_cast<double>(steps)));
  }
  return path + fmt::format("H{}Z", px(x.at(0)));
}

double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string silhouette_bands(const ShownModel& shown) {
  constexpr double kLeft = 34, kRight = 76, kTop = 10, kGap = 3, kAll = 260, kMin = 12;
  std::vector<double> heights;
  double shares = 0;
  for (const size_t k : shown.clusters) shares += shown.shares[k];
  double height = kTop;
  for (const size_t k : shown.clusters) {
    heights.push_back(std::max(kMin, kAll * shown.shares[k] / std::max(shares, 1e-300)));
    height += heights.back() + kGap;
  }
  double least = 0;
  for (const auto& band : shown.bands) least = band.empty() ? least : std::min(least, band.back());
  Axis x = {kLeft, kWidth - kRight, least < 0 ? least * 1.05 : 0.0, 1, "silhouette by squared distances"};
  const Axis y = {height, kTop, 0, 1, ""};
  Chart chart(kWidth, height + 38, "Silhouettes of the rows of each cluster, as bands");
  double top = kTop;
  for (size_t i = 0; i < shown.clusters.size(); ++i) {
    const size_t k = shown.clusters[i];
    chart.text(kLeft - 6, top + heights[i] / 2 + 3, fmt::format("{}", k), Anchor::kEnd);
    chart.text(kWidth - kRight + 5, top + heights[i] / 2 + 3, fmt::format("mean {:.3f}", mean_of(shown.bands[i])));
    chart.add(fmt::format("<path class=\"{}\" d=\"{}\"><title>cluster {}: {} of {}</title></path>\n", shown.colour(k),
                          band_of(shown.bands[i], x, top, heights[i]), k, counted(std::ssize(shown.bands[i])),
                          counted(shown.model.counts[k], "row")));
    top += heights[i] + kGap;
  }
  for (const double tick : ticks_of(x)) {
    chart.add(fmt::format("<line class=\"g\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", px(x.at(tick)), px(kTop),
                          px(height)));
    chart.text(x.at(tick), height + 14, fmt::format("{:.3g}", std::fabs(tick) < 1e-9 ? 0 : tick), Anchor::kMiddle);
  }
  chart.text((x.from + x.to) / 2, height + 30, x.title, Anchor::kMiddle, "m");
  return fit(chart.svg());
}

}  // namespace

std::string sizes_part(const ShownModel& shown) {
  return section("Sizes of the clusters", fmt::format("Bars of {}, the largest first.", shown.which_clusters()),
                 size_bars(shown));
}

std::string heat_map_part(const ShownModel& shown) {
  if (!shown.summary) return {};
  return section(
      "What sets clusters apart",
      fmt::format("Each cell has the centroid, {}. Its colour is the difference to the mean of all "
                  "rows, in standard deviations (sd) of the column: orange above, blue below. Shown: {}, and {}, the "
                  "largest first.",
                  shown.units(), shown.which_columns(), shown.which_clusters()),
      heat_map(shown));
}

std::string silhouettes_part(const ShownModel& shown) {
  if (shown.bands.empty() || shown.shares.size() < 2) return {};
  return section(
      "Silhouettes",
      fmt::format("How much nearer each row is to its own cluster than to the next one: 1 is best, below 0 "
                  "the row would be better off elsewhere. Distances are squared Euclidean ones; bands are of "
                  "at most {} of each cluster, drawn at random, and as high as the cluster is large. Shown: "
                  "{}.",
                  counted(shown.band_rows, "row"), shown.which_clusters()),
      silhouette_bands(shown));
}

std::string centroids_part(const ShownModel& shown) {
  if (!shown.summary) return {};
  std::vector<std::string> heads = {"cluster", "rows", "share", "spread"};
  for (const size_t j : shown.apart) heads.push_back(shown.short_name(j));
  std::vector<std::vector<std::string>> rows;
  for (const size_t k : shown.clusters) {
    const ClusterTraits& traits = shown.summary->clusters[k];
    rows.push_back(
        {fmt::format("{}", k), fmt::format("{}", traits.rows), percent(traits.share), report::shown(traits.spread)});
    for (const size_t j : shown.apart) {
      rows.back().push_back(centroid_text(*shown.summary, static_cast<int64_t>(k), static_cast<int64_t>(j)));
    }
  }
  return section("All centroids",
                 fmt::format("Means of the clusters, {}; spread is the root mean square distance of the "
                             "rows to their centroid{}.{} Shown: {}, and {}.",
                             shown.units(), shown.summary->scaled ? ", in scaled units" : "", shown.about_logs(),
                             shown.which_clusters(), shown.which_columns()),
                 table(heads, rows));
}

}  // namespace manymeans::report
