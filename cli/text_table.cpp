#include "text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans::cli {

std::string format_table(const std::vector<std::string>& head, const std::string& alignment,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::string& title : head) widths.push_back(title.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += "  ";
      out +=
          alignment[i] == 'r' ? fmt::format("{:>{}}", cells[i], widths[i]) : fmt::format("{:<{}}", cells[i], widths[i]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  };
  std::string out = line(head);
  for (const auto& row : rows) out += line(row);
  return out;
}

}  // namespace manymeans::cli
