// One chart: SVG of a fixed size, with axes that say what they are.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans::report {

/// Of an axis: values and where they are drawn.
struct Axis {
  double from = 0, to = 1;   ///< pixels
  double low = 0, high = 1;  ///< the values there
  std::string title = {};
  bool logarithmic = false;
  bool whole = false;  ///< numbers of something: ticks are whole

  double at(double value) const;
};
/// Returns an axis with some room at both ends of its values. If all values are equal, it surrounds them.
Axis axis_of(double low, double high, std::string title);

/// Values at which people expect ticks, within the axis.
std::vector<double> ticks_of(const Axis& axis);

enum class Anchor { kStart, kMiddle, kEnd };

class Chart {
 public:
  /// `what`: a sentence for those who do not see it.
  Chart(double width, double height, std::string_view what);

  double width() const { return width_; }
  double height() const { return height_; }
  /// SVG as it is.
  void add(std::string_view svg) { body_ += svg; }
  /// Text, escaped here; `style` is a class.
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::kStart, std::string_view style = "");
  /// Both axes with ticks, grid and titles; `x` at the bottom of `y`.
  void axes(const Axis& x, const Axis& y);
  /// The chart's own title, at its top.
  void title(std::string_view text);
  std::string svg() const;

 private:
  double width_, height_;
  std::string what_, body_;
};

/// "M x y L x y ..." through points; NaN interrupts it.
std::string path_of(const std::vector<std::pair<double, double>>& points);

/// The class of the colour of a cluster: eight have one of their own.
std::string colour_of(size_t cluster);

/// A circle, or a shape of about its size.
struct Disc {
  double x = 0, y = 0, radius = 0;
};
/// Marks a cluster by its colour and, beyond the first eight, by another shape. `style`: more classes. `title` is
/// escaped here; empty: there is none.
std::string marker(size_t cluster, const Disc& disc, std::string_view style, std::string_view title);

}  // namespace manymeans::report
