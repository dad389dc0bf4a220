#include "report/chart.h"

#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace manymeans::report {
namespace {

constexpr size_t kColours = 8;

// 1, 2 or 5 times a power of ten, so that about `count` of them cover the width.
double step_of(double width, int count, bool whole) {
  const double raw = width / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (raw <= factor * power) step = factor * power;
  }
  return whole ? std::max(1.0, std::round(step)) : step;
}

std::vector<double> powers_of_ten(const Axis& axis) {
  std::vector<double> ticks;
  const double low = std::ceil(std::log10(axis.low) - 1e-9), high = std::floor(std::log10(axis.high) + 1e-9);
  const double step = std::max(1.0, std::ceil((high - low) / 5));
  for (double power = low; power <= high; power += step) ticks.push_back(std::pow(10, power));
  return ticks;
}

// A tick, with no more digits than its neighbours need.
std::string tick_text(double value, double step) {
  if (std::fabs(value) < step * 1e-6) return "0";
  const double size = std::fabs(value);
  if (size < 1e7 && (size >= 1e-3 || step >= 1e-4)) {
    const std::string text =
        fmt::format("{:.{}f}", value, std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 6));
    return text.find_first_not_of("-0.") == text.npos ? "0" : text;
  }
  const auto power = static_cast<int>(std::floor(std::log10(size) + 1e-9));
  const int digits = std::clamp(power - static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 6);
  return fmt::format("{:.{}f}e{}", value / std::pow(10, power), digits, power);
}

// Between the first two; of a single one what tells it from nothing.
double gap_of(const std::vector<double>& ticks) {
  if (ticks.size() > 1) return ticks[1] - ticks[0];
  return ticks.empty() || ticks[0] == 0 ? 1 : std::pow(10, std::floor(std::log10(std::fabs(ticks[0]))) - 2);
}

}  // namespace

double Axis::at(double value) const {
  const double share = logarithmic ? (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low))
                                   : (value - low) / (high - low);
  return from + share * (to - from);
}

Axis axis_of(double low, double high, std::string title) {
  constexpr double kRoom = 0.04;
  double room = (high - low) * kRoom;
  if (!(room > 0)) room = std::max(std::fabs(low), 1.0) * kRoom;
  return {.low = low - room, .high = high + room, .title = std::move(title)};
}

std::vector<double> ticks_of(const Axis& axis) {
  if (axis.logarithmic) return powers_of_ten(axis);
  const int count =
      std::clamp(static_cast<int>(std::fabs(axis.to - axis.from) / (axis.from > axis.to ? 40 : 62)), 2, 12);
  const double step = step_of(axis.high - axis.low, count, axis.whole);
  std::vector<double> ticks;
  for (double i = std::ceil(axis.low / step - 1e-9); i * step <= axis.high + step * 1e-9; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

Chart::Chart(double width, double height, std::string_view what) : width_(width), height_(height), what_(what) {}

void Chart::text(double x, double y, std::string_view text, Anchor anchor, std::string_view style) {
  const char* const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  add(fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", px(x), px(y), anchors[static_cast<int>(anchor)],
                  style.empty() ? "" : fmt::format(" class=\"{}\"", style), escaped(text)));
}

void Chart::title(std::string_view text) {
  this->text(8, 16, text, Anchor::kStart, "t");
}

void Chart::axes(const Axis& x, const Axis& y) {
  const auto shown_tick = [](const Axis& axis, double tick, double step) {
    return axis.logarithmic ? fmt::format("{:g}", tick) : tick_text(tick, step);
  };
  const std::vector<double> down = ticks_of(y), along = ticks_of(x);
  for (const double tick : down) {
    const std::string at = px(y.at(tick));
    add(fmt::format("<line class=\"g\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", px(x.from), px(x.to), at, at));
    text(x.from - 6, y.at(tick) + 4, shown_tick(y, tick, gap_of(down)), Anchor::kEnd);
  }
  for (const double tick : along) {
    const std::string at = px(x.at(tick));
    add(fmt::format("<line class=\"a\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", at, at, px(y.from),
                    px(y.from + 4)));
    text(x.at(tick), y.from + 17, shown_tick(x, tick, gap_of(along)), Anchor::kMiddle);
  }
  add(fmt::format("<path class=\"a\" d=\"M{} {}V{}H{}\"/>\n", px(x.from), px(y.to), px(y.from), px(x.to)));
  text((x.from + x.to) / 2, y.from + 34, x.title, Anchor::kMiddle, "m");
  const double middle = (y.from + y.to) / 2;
  add(fmt::format("<text class=\"m\" text-anchor=\"middle\" transform=\"translate(10 {}) rotate(-90)\">{}</text>\n",
                  px(middle), escaped(y.title)));
}

std::string Chart::svg() const {
  return fmt::format(
      "<svg role=\"img\" aria-label=\"{}\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n{}</svg>\n",
      escaped(what_), px(width_), px(height_), px(width_), px(height_), body_);
}

std::string path_of(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  bool drawing = false;
  for (const auto& [x, y] : points) {
    const bool there = std::isfinite(x) && std::isfinite(y);
    if (there) path += fmt::format("{}{} {}", drawing ? "L" : "M", px(x), px(y));
    drawing = there;
  }
  return path;
}

std::string colour_of(size_t cluster) {
  return fmt::format("k{}", cluster % kColours);
}

std::string marker(size_t cluster, const Disc& disc, std::string_view style, std::string_view title) {
  // Corners for a radius of one: square, triangle, diamond, cross.
  static const std::vector<std::pair<double, double>> kShapes[] = {{{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}},
                                                                   {{0, -1.3}, {1.2, .9}, {-1.2, .9}},
                                                                   {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}},
                                                                   {{-.4, -1.2},
                                                                    {.4, -1.2},
                                                                    {.4, -.4},
                                                                    {1.2, -.4},
                                                                    {1.2, .4},
                                                                    {.4, .4},
                                                                    {.4, 1.2},
                                                                    {-.4, 1.2},
                                                                    {-.4, .4},
                                                                    {-1.2, .4},
                                                                    {-1.2, -.4},
                                                                    {-.4, -.4}}};
  const std::string named = title.empty() ? "/>" : "><title>" + escaped(title) + "</title>";
  const std::string classes = fmt::format("{}{}{}", colour_of(cluster), style.empty() ? "" : " ", style);
  const size_t shape = cluster / kColours % (std::size(kShapes) + 1);
  if (shape == 0) {
    return fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}", classes, px(disc.x), px(disc.y),
                       px(disc.radius), named, title.empty() ? "" : "</circle>\n");
  }
  std::vector<std::pair<double, double>> corners = kShapes[shape - 1];
  for (auto& [x, y] : corners) x = disc.x + x * disc.radius, y = disc.y + y * disc.radius;
  return fmt::format("<path class=\"{}\" d=\"{}Z\"{}{}", classes, path_of(corners), named,
                     title.empty() ? "" : "</path>\n");
}

}  // namespace manymeans::report
