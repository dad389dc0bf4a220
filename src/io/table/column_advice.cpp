#include <manymeans/choose_columns.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace manymeans {

Error about_column(const Error& error, const std::string& column, const ColumnAdvice& advice) {
  const std::string_view all = error.what();
  const size_t place = all.find("] ");
  const size_t end = all.find("; ");
  if (column.empty() || place == std::string_view::npos || end == std::string_view::npos || end < place) return error;
  const std::string_view what = all.substr(place + 2, end - place - 2);
  const std::string_view advised = all.substr(end);
  const auto any_in = [](std::string_view text, const std::array<std::string, 3>& parts) {
    return std::ranges::any_of(parts,
                               [&](const std::string& part) { return text.find(part) != std::string_view::npos; });
  };
  const bool its = any_in(
      what, {fmt::format("('{}')", column), fmt::format("column {}:", column), fmt::format("column {} (", column)});
  if (!its || !any_in(advised, {"--exclude", "--numeric-only", "--missing"})) return error;
  const bool gap = advised.find("--missing") != std::string_view::npos;
  return {error.code(), std::string(all.substr(1, place - 1)),
          fmt::format("{}; {}", what, gap ? advice.for_gap : advice.for_text)};
}

}  // namespace manymeans
