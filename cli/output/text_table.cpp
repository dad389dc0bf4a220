#include "output/text_table.h"

#include "streams/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace manymeans::cli {

std::string format_table(const std::string& alignment, std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell, Newlines::kEscaped);
  }
  std::vector<size_t> widths(alignment.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += "  ";
      out += alignment[i] == 'r' ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  return out;
}

std::string shown_mean(double value, double unit) {
  constexpr double kNothing = 1e-6;
  const double size = std::fabs(value);
  if (size < kNothing * unit) return "0";
  return size >= 1e6 && size < 1e9 ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::string size_of_points(int64_t rows, int64_t columns) {
  return fmt::format("{} points of {} column{}", rows, columns, columns == 1 ? "" : "s");
}

}  // namespace manymeans::cli
