// Where clusters lie: a map of two dimensions, and parallel coordinates.
#include "report/chart.h"
#include "report/markup.h"
#include "report/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace manymeans::report {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double normalise(Vector& v) {
  const double length = std::sqrt(dot(v, v));
  if (length > 0) {
    for (double& value : v) value /= length;
  }
  return length;
}

// The two directions in which the drawn centroids differ most, each as heavy as its cluster: principal axes.
struct Plane {
  Vector mean;
  std::vector<Vector> axes;      // two
  std::vector<double> variance;  // their shares
};

class Centroids {
 public:
  explicit Centroids(const ShownModel& shown) {
    const auto d = static_cast<size_t>(shown.model.prototypes.columns());
    mean_.resize(d);
    double all = 0;
    for (const size_t k : shown.clusters) all += shown.shares[k];
    for (const size_t k : shown.clusters) {
      Vector row(d);
      for (size_t j = 0; j < d; ++j)
        row[j] = shown.model.prototypes.at(static_cast<int64_t>(k), static_cast<int64_t>(j));
      weights_.push_back(all > 0 ? shown.shares[k] / all : 0);
      for (size_t j = 0; j < d; ++j) mean_[j] += weights_.back() * row[j];
      rows_.push_back(std::move(row));
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (size_t j = 0; j < d; ++j) rows_[i][j] = (rows_[i][j] - mean_[j]) * std::sqrt(weights_[i]);
    }
  }

  Plane plane() const {
    Plane found{mean_, {}, {}};
    double total = 0;
    for (const Vector& row : rows_) total += dot(row, row);
    for (int axis = 0; axis < 2; ++axis) {
      Vector v = iterate(found.axes);
      double variance = 0;
      for (const Vector& row : rows_) variance += std::pow(dot(row, v), 2);
      found.variance.push_back(total > 0 ? variance / total : 0);
      found.axes.push_back(std::move(v));
    }
    return found;
  }

 private:
  // Power iteration, at right angles to the axes before. The value of the largest magnitude is positive.
  Vector iterate(const std::vector<Vector>& before) const {
    constexpr int kSteps = 200;
    Vector v = *std::ranges::max_element(rows_, {}, [](const Vector& row) { return dot(row, row); });
    for (size_t j = 0; j < v.size(); ++j) v[j] += 1e-3 / static_cast<double>(j + 1);
    for (int step = 0; step < kSteps; ++step) {
      for (const Vector& axis : before) {
        const double along = dot(v, axis);
        for (size_t j = 0; j < v.size(); ++j) v[j] -= along * axis[j];
      }
      if (normalise(v) == 0) return v;
      Vector next(v.size());
      for (const Vector& row : rows_) {
        const double along = dot(row, v);
        for (size_t j = 0; j < v.size(); ++j) next[j] += along * row[j];
      }
      if (dot(next, next) == 0) break;
      v = std::move(next);
    }
    for (const Vector& axis : before) {
      const double along = dot(v, axis);
      for (size_t j = 0; j < v.size(); ++j) v[j] -= along * axis[j];
    }
    normalise(v);
    const double largest = *std::ranges::max_element(v, {}, [](double value) { return std::fabs(value); });
    if (largest < 0) {
      for (double& value : v) value = -value;
    }
    return v;
  }

  std::vector<Vector> rows_;
  std::vector<double> weights_;
  Vector mean_;
};

struct Place {
  double x = 0, y = 0;
};

// Rows of a matrix on the map: columns themselves where there are two, in the units of the file.
struct Projection {
  const ShownModel& shown;
  Plane plane;

  bool plain() const { return shown.columns.size() == 2; }
  Place of(const Matrix& rows, int64_t row) const {
    const auto d = static_cast<size_t>(rows.columns());
    if (plain()) return {shown.in_units(rows.at(row, 0), 0), shown.in_units(rows.at(row, 1), 1)};
    Place place;
    for (size_t j = 0; j < d; ++j) {
      const double value = rows.at(row, static_cast<int64_t>(j)) - plane.mean[j];
      place.x += value * plane.axes[0][j];
      place.y += value * plane.axes[1][j];
    }
    return place;
  }
  std::string title(size_t axis) const {
    if (plain()) return shown.input.scaling.name(shown.short_name(axis), axis);
    double share = plane.variance[axis];
    // Both are rounded, and may not be more than all.
    if (axis == 1) share = std::min(share, 1 - std::round(1000 * plane.variance[0]) / 1000);
    return fmt::format("principal axis {} ({} of the variance)", axis + 1, percent(std::max(share, 0.0)));
  }
};

// Numbers next to centroids, as far as there is room.
class Numbers {
 public:
  bool place(double x, double y, double width) {
    for (const Box& box : taken_) {
      if (std::fabs(box.x - x) < (box.width + width) / 2 + 2 && std::fabs(box.y - y) < 11) return false;
    }
    taken_.push_back({x, y, width});
    return true;
  }

 private:
  struct Box {
    double x, y, width;
  };
  std::vector<Box> taken_;
};

double radius_of(double share) {
  return 3 + 9 * std::sqrt(share);
}

void add_centroids(Chart& chart, const ShownModel& shown, const std::vector<Place>& places) {
  Numbers numbers;
  const double largest = std::max(shown.shares[shown.clusters[0]], 1e-300);
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t k = shown.clusters[i];
    chart.add(marker(shown.rank[k], {places[i].x, places[i].y, radius_of(shown.shares[k] / largest)}, "o",
                     fmt::format("cluster {}: {}", k, percent(shown.shares[k]))));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string number = fmt::format("{}", shown.clusters[i]);
    const double width = 6.5 * static_cast<double>(number.size());
    const double radius = radius_of(shown.shares[shown.clusters[i]] / largest);
    // Within a mark that it does not hide, else beside it.
    const double beside = radius + 2 + width / 2, first = 1.5 * radius > width ? 0 : beside;
    for (const double aside : {first, beside, -beside, beside + 8, -beside - 8}) {
      if (!numbers.place(places[i].x + aside, places[i].y, width)) continue;
      chart.text(places[i].x + aside, places[i].y + 3.5, number, Anchor::kMiddle, "b");
      break;
    }
  }
}

std::string cluster_map(const ShownModel& shown) {
  const Projection projection{shown, Centroids(shown).plane()};
  std::vector<Place> centres, dots;
  for (const size_t k : shown.clusters)
    centres.push_back(projection.of(shown.model.prototypes, static_cast<int64_t>(k)));
  for (int64_t i = 0; i < shown.dot_values.rows(); ++i) dots.push_back(projection.of(shown.dot_values, i));
  double low[2] = {centres[0].x, centres[0].y}, high[2] = {centres[0].x, centres[0].y};
  for (const auto* places : {&centres, &dots}) {
    for (const Place& place : *places) {
      low[0] = std::min(low[0], place.x), high[0] = std::max(high[0], place.x);
      low[1] = std::min(low[1], place.y), high[1] = std::max(high[1], place.y);
    }
  }
  Axis x = axis_of(low[0], high[0], projection.title(0)), y = axis_of(low[1], high[1], projection.title(1));
  x.from = 66, x.to = 350, y.from = 272, y.to = 10;
  Chart chart(360, 312, "Map of the clusters in two dimensions");
  chart.axes(x, y);
  for (size_t i = 0; i < dots.size(); ++i) {
    chart.add(marker(shown.rank[shown.dots.cluster[i]], {x.at(dots[i].x), y.at(dots[i].y), 1.3}, "", ""));
  }
  for (Place& place : centres) place = {x.at(place.x), y.at(place.y)};
  add_centroids(chart, shown, centres);
  return fit(chart.svg());
}

// Columns that are drawn side by side: few, those in which clusters differ most.
constexpr size_t kMaxLines = 14;
constexpr size_t kMaxCentroidLines = 8;
constexpr size_t kMaxRowLines = 160;
constexpr double kMaxDeviations = 4;

std::vector<size_t> parallel_columns(const ShownModel& shown) {
  std::vector<size_t> columns = shown.apart;
  const auto apartness = [&](size_t j) {
    double sum = 0;
    for (size_t k = 0; k < shown.shares.size(); ++k) {
      const double z = shown.summary->differences.at(static_cast<int64_t>(k), static_cast<int64_t>(j));
      if (shown.shares[k] > 0) sum += shown.shares[k] * z * z;
    }
    return sum;
  };
  std::ranges::stable_sort(columns, std::greater<>(), apartness);
  if (columns.size() > kMaxLines) columns.resize(kMaxLines);
  std::ranges::sort(columns);
  return columns;
}

class Parallel {
 public:
  explicit Parallel(const ShownModel& shown) : shown_(shown), columns_(parallel_columns(shown)) {
    std::vector<std::string> names;
    for (const size_t j : columns_) names.push_back(shown.columns[j]);
    names_ = shortened_apart(names, 13);
    gap_ = (kRight - kLeft) / static_cast<double>(std::max<size_t>(columns_.size() - 1, 1));
  }

  std::string chart() {
    Chart chart(480, 300, "Parallel coordinates: sampled rows and centroids over the columns, in deviations");
    add_axes(chart);
    const size_t rows = std::min(kMaxRowLines, shown_.dots.rows.size());
    for (size_t i = 0; i < rows; ++i) {
      const size_t at = i * shown_.dots.rows.size() / rows;
      if (shown_.rank[shown_.dots.cluster[at]] >= kMaxCentroidLines) continue;  // it would have the colour of another
      add_line(chart, fmt::format("r {}l", shown_.colour(shown_.dots.cluster[at])),
               [&](size_t j) { return row_value(at, j); });
    }
    const size_t centroids = std::min(kMaxCentroidLines, shown_.clusters.size());
    for (size_t i = 0; i < centroids; ++i) {
      const size_t k = shown_.clusters[i];
      add_line(chart, fmt::format("c {}l", shown_.colour(k)), [&](size_t j) {
        return shown_.summary->differences.at(static_cast<int64_t>(k), static_cast<int64_t>(j));
      });
      add_key(chart, i, k);
    }
    return large(chart.svg());
  }

  size_t columns() const { return columns_.size(); }

 private:
  static constexpr double kLeft = 84, kRight = 400, kTop = 8, kBottom = 222;
  const Axis y_ = {kBottom, kTop, -kMaxDeviations, kMaxDeviations, "deviations from the mean"};

  double x_at(size_t place) const { return kLeft + gap_ * static_cast<double>(place); }

  void add_axes(Chart& chart) const {
    for (const double tick : ticks_of(y_)) {
      chart.add(fmt::format("<line class=\"g\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", px(kLeft), px(kRight),
                            px(y_.at(tick)), px(y_.at(tick))));
      chart.text(kLeft - 6, y_.at(tick) + 3, fmt::format("{:g}", tick), Anchor::kEnd);
    }
    chart.add(
        fmt::format("<text class=\"m\" text-anchor=\"middle\" transform=\"translate(56 {}) rotate(-90)\">{}</text>\n",
                    px((kTop + kBottom) / 2), escaped(y_.title)));
    for (size_t i = 0; i < columns_.size(); ++i) {
      chart.add(fmt::format("<line class=\"a\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", px(x_at(i)), px(x_at(i)),
                            px(kTop), px(kBottom)));
      chart.add(fmt::format("<text text-anchor=\"end\" transform=\"translate({} {}) rotate(-35)\">{}</text>\n",
                            px(x_at(i) + 3), px(kBottom + 12), escaped(names_[i])));
    }
  }

  template <class Value>
  void add_line(Chart& chart, const std::string& style, Value&& value) const {
    std::vector<std::pair<double, double>> points;
    for (size_t i = 0; i < columns_.size(); ++i) {
      points.emplace_back(x_at(i), y_.at(std::clamp(value(columns_[i]), -kMaxDeviations, kMaxDeviations)));
    }
    chart.add(fmt::format("<path class=\"{}\" d=\"{}\"/>\n", style, path_of(points)));
  }

  void add_key(Chart& chart, size_t place, size_t cluster) const {
    const double y = kTop + 10 + 15 * static_cast<double>(place);
    chart.add(fmt::format("<line class=\"c {}l\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", shown_.colour(cluster),
                          px(kRight + 8), px(kRight + 22), px(y - 3), px(y - 3)));
    chart.text(kRight + 26, y, fmt::format("cluster {}", cluster));
  }

  double row_value(size_t at, size_t column) const {
    const ColumnTraits& traits = shown_.summary->fitted[column];
    const double value = shown_.dot_values.at(static_cast<int64_t>(at), static_cast<int64_t>(column));
    return traits.deviation > 0 ? (value - traits.mean) / traits.deviation : 0;
  }

  const ShownModel& shown_;
  std::vector<size_t> columns_;
  std::vector<std::string> names_;
  double gap_ = 0;
};

}  // namespace

std::string map_part(const ShownModel& shown) {
  if (shown.clusters.size() < 2 || shown.columns.size() < 2) return {};
  const bool plain = shown.columns.size() == 2;
  return section(
      "Map of the clusters",
      fmt::format("{} Large marks are centroids, their areas the shares of the clusters{}. Shown: {}.",
                  plain ? "The two columns as they are."
                        : "The plane in which the centroids differ most (classical scaling of their "
                          "distances); what lies apart in other directions may seem near here. The axes show shares of "
                          "the variance of the centroids.",
                  shown.dots.rows.empty()
                      ? std::string()
                      : fmt::format("; dots are {} drawn at random", counted(std::ssize(shown.dots.rows), "row")),
                  shown.which_clusters()),
      cluster_map(shown));
}

std::string parallel_part(const ShownModel& shown) {
  if (!shown.summary || shown.dots.rows.empty() || shown.columns.size() < 2) return {};
  Parallel parallel(shown);
  const std::string columns = parallel.columns() < shown.columns.size()
                                  ? fmt::format("Shown: the {} of {} columns in which clusters differ most.",
                                                parallel.columns(), counted(std::ssize(shown.columns)))
                                  : "";
  return section("Parallel coordinates",
                 fmt::format("Thick lines are the centroids of the largest clusters (at most {}), thin ones some of "
                             "their rows, drawn at random, "
                             "in standard deviations from the mean of each column, cut at {}. {}",
                             kMaxCentroidLines, kMaxDeviations, columns),
                 parallel.chart());
}

}  // namespace manymeans::report
