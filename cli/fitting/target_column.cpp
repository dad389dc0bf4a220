#include "fitting/target_column.h"

#include <manymeans/error.h>

#include "flags/flag_values.h"
#include "flags/model_columns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace manymeans::cli {
namespace {

// Where the points have the column of this name, or else the column of this number in the file.
std::optional<int64_t> find_target(const Dataset& points, const std::string& target) {
  const auto& names = points.column_names;
  const auto named = std::ranges::find(names, target);
  if (named != names.end()) {
    if (std::find(named + 1, names.end(), target) == names.end()) return named - names.begin();
    throw Error(ErrorCode::kUsage, "--target",
                fmt::format("several columns have the name '{}'; give the number instead", shown(target)));
  }
  int64_t number = 0;
  const char* end = target.data() + target.size();
  const auto [stop, problem] = std::from_chars(target.data(), end, number);
  if (problem != std::errc() || stop != end) return std::nullopt;
  const auto& numbers = points.source.numbers;
  // A field of lists is one column of its file, so that numbers do not say which column of the points is meant.
  if (std::ssize(numbers) != points.view.d) return std::nullopt;
  const auto at = std::ranges::find(numbers, number);
  return at == numbers.end() ? std::nullopt : std::optional<int64_t>(at - numbers.begin());
}

std::string columns_read(const Dataset& points) {
  constexpr size_t kMost = 20;
  const auto list = [kMost](const auto& all) {
    return fmt::format("{}{}", fmt::join(std::span(all).first(std::min(kMost, all.size())), ", "),
                       all.size() > kMost ? ", ..." : "");
  };
  return points.column_names.empty() ? list(points.source.numbers) : list(points.column_names);
}

}  // namespace

Dataset read_with_target(const DataFiles& data, const ReadOptions& options, const std::string& target) {
  ReadOptions with_target = options;
  if (!options.columns.empty()) with_target.columns.push_back(target);
  Dataset points = data.read(with_target);
  // Those that were asked for stand as they were asked for.
  const auto place = options.columns.empty() ? find_target(points, target) : points.view.d - 1;
  if (!place) {
    throw Error(ErrorCode::kUsage, "--target",
                fmt::format("{} has no column of numbers '{}'; a name or a number is right, of the columns {}",
                            data.name(), shown(target), columns_read(points)));
  }
  if (points.view.d < 2) {
    throw Error(ErrorCode::kUsage, "--target",
                data.name() + " has no column beside the target; a regression needs one");
  }
  if (*place == points.view.d - 1) return points;
  std::vector<int64_t> order(static_cast<size_t>(points.view.d));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + *place, order.begin() + *place + 1, order.end());
  keep_columns(points, order);
  return points;
}

}  // namespace manymeans::cli
