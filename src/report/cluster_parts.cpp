// The clusters of a model: sizes, centroids, silhouettes.
#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans::report {
namespace {

constexpr double kWide = 960;

std::string size_bars(const ShownModel& shown) {
  constexpr double kRow = 18, kLeft = 70, kRight = 150, kTop = 26;
  const double height = kTop + kRow * static_cast<double>(shown.clusters.size()) + 6;
  Chart chart(720, height, "Sizes of the clusters as bars");
  chart.text(kLeft - 8, 16, "cluster", Anchor::kEnd, "m");
  chart.text(kLeft, 16,
             shown.summary && shown.summary->weighted ? "share of the weight of all rows" : "share of all rows",
             Anchor::kStart, "m");
  const double largest = std::max(shown.shares[shown.clusters[0]], 1e-300);
  for (size_t i = 0; i < shown.clusters.size(); ++i) {
    const size_t k = shown.clusters[i];
    const double y = kTop + kRow * static_cast<double>(i);
    const double width = std::max(1.0, shown.shares[k] / largest * (720 - kLeft - kRight));
    const std::string rows = counted(shown.model.counts[k], "row");
    chart.text(kLeft - 8, y + 13, fmt::format("{}", k), Anchor::kEnd);
    chart.add(
        fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\"><title>cluster {}: {}, {}"
                    "</title></rect>\n",
                    shown.colour(k), px(kLeft), px(y + 2), px(width), k, rows, percent(shown.shares[k])));
    chart.text(kLeft + width + 6, y + 13, fmt::format("{}, {}", percent(shown.shares[k]), rows));
  }
  return wide(chart.svg());
}

// A zero that was scaled and scaled back may be 6e-9.
std::string centroid_text(const ModelSummary& summary, int64_t k, int64_t j) {
  constexpr double kNothing = 1e-6;  // of a deviation
  const double value = summary.centroids.at(k, j);
  return std::fabs(value) < kNothing * summary.columns[static_cast<size_t>(j)].deviation ? "0"
                                                                                         : report::shown(value, 6);
}

// From white over the colour for as many deviations as are told apart.
constexpr double kFullColour = 3;

std::string cell_of(const ShownModel& shown, size_t cluster, size_t column, const std::string& place) {
  const auto k = static_cast<int64_t>(cluster), j = static_cast<int64_t>(column);
  const double difference = shown.summary->differences.at(k, j);
  const std::string what = fmt::format("{}, cluster {}: {} ({:+.2f} deviations)", shown.short_name(column), cluster,
                                       centroid_text(*shown.summary, k, j), difference);
  const double full = std::min(std::fabs(difference) / kFullColour, 1.0);
  return fmt::format("<rect class=\"{}\" {} fill-opacity=\"{:.2f}\"><title>{}</title></rect>\n",
                     difference < 0 ? "neg" : "pos", place, std::isnan(full) ? 0 : full, escaped(what));
}

void add_colour_key(Chart& chart, double x, double y) {
  constexpr int kSteps = 13;
  for (int i = 0; i < kSteps; ++i) {
    const double value = kFullColour * (2.0 * i / (kSteps - 1) - 1);
    chart.add(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"16\" height=\"10\" fill-opacity=\"{:.2f}\"/>\n",
                          value < 0 ? "neg" : "pos", px(x + 16 * i), px(y), std::fabs(value) / kFullColour));
  }
  chart.text(x, y + 24, "-3 or less", Anchor::kStart, "m");
  chart.text(x + 8 * kSteps, y + 24, "0", Anchor::kMiddle, "m");
  chart.text(x + 16 * kSteps, y + 24, "3 deviations or more", Anchor::kMiddle, "m");
}

std::string heat_map(const ShownModel& shown) {
  constexpr double kLeft = 190, kTop = 72, kRow = 18;
  const auto n = static_cast<double>(shown.clusters.size());
  const double cell = std::clamp((kWide - kLeft - 10) / n, 18.0, 48.0);
  Chart chart(std::max(kLeft + cell * n + 10, 480.0), kTop + kRow * static_cast<double>(shown.apart.size()) + 6,
              "Centroids as a heat map: columns down, clusters across, differences to the mean in deviations");
  add_colour_key(chart, kLeft, 6);
  chart.text(kLeft - 8, kTop - 8, "column \\ cluster", Anchor::kEnd, "m");
  for (size_t i = 0; i < shown.clusters.size(); ++i) {
    chart.text(kLeft + cell * (static_cast<double>(i) + 0.5), kTop - 8, fmt::format("{}", shown.clusters[i]),
               Anchor::kMiddle, shown.k() > 99 ? "s" : "");
  }
  for (size_t at = 0; at < shown.apart.size(); ++at) {
    const double y = kTop + kRow * static_cast<double>(at);
    chart.text(kLeft - 8, y + 13, shown.short_name(shown.apart[at]), Anchor::kEnd);
    for (size_t i = 0; i < shown.clusters.size(); ++i) {
      const double x = kLeft + cell * static_cast<double>(i);
      chart.add(cell_of(
          shown, shown.clusters[i], shown.apart[at],
          fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", px(x), px(y), px(cell - 1), px(kRow - 1))));
    }
  }
  return wide(chart.svg());
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
  constexpr double kLeft = 70, kRight = 110, kTop = 12, kGap = 4, kAll = 420, kMin = 14;
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
  Axis x = {kLeft, 720 - kRight, least < 0 ? least * 1.05 : 0.0, 1, "silhouette by squared distances"};
  const Axis y = {height, kTop, 0, 1, ""};
  Chart chart(720, height + 44, "Silhouettes of the rows of each cluster, as bands");
  double top = kTop;
  for (size_t i = 0; i < shown.clusters.size(); ++i) {
    const size_t k = shown.clusters[i];
    chart.text(kLeft - 12, top + heights[i] / 2 + 4, fmt::format("{}", k), Anchor::kEnd);
    chart.text(720 - kRight + 8, top + heights[i] / 2 + 4, fmt::format("mean {:.3f}", mean_of(shown.bands[i])));
    chart.add(fmt::format("<path class=\"{}\" d=\"{}\"><title>cluster {}: {} of {}</title></path>\n", shown.colour(k),
                          band_of(shown.bands[i], x, top, heights[i]), k, counted(std::ssize(shown.bands[i])),
                          counted(shown.model.counts[k], "row")));
    top += heights[i] + kGap;
  }
  for (const double tick : ticks_of(x)) {
    chart.add(fmt::format("<line class=\"g\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", px(x.at(tick)), px(kTop),
                          px(height)));
    chart.text(x.at(tick), height + 17, fmt::format("{:.3g}", std::fabs(tick) < 1e-9 ? 0 : tick), Anchor::kMiddle);
  }
  chart.text((x.from + x.to) / 2, height + 36, x.title, Anchor::kMiddle, "m");
  return wide(chart.svg());
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
      fmt::format("Each cell is the difference of a centroid to the mean of all rows, in standard deviations "
                  "of the column: orange above, blue below. The centroid in original units is shown when "
                  "you point at a cell, and in the table of centroids. Shown: {}, and {}, the largest first.",
                  shown.which_columns(), shown.which_clusters()),
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
  return section(
      "Centroids",
      fmt::format("Means of the clusters in original units; spread is the root mean square distance of the "
                  "rows to their centroid{}. Shown: {}, and {}.",
                  shown.summary->scaled ? ", in scaled units" : "", shown.which_clusters(), shown.which_columns()),
      table(heads, rows));
}

}  // namespace manymeans::report
