#include "fitting/target_column.h"

#include <manymeans/choose_columns.h>
#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "flags/flag_values.h"
#include "flags/model_columns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace manymeans::cli {
namespace {

// For each column of the file which column of the points it is; -1: it is several, or behind a list.
std::vector<int64_t> places_of_fields(const Dataset& points) {
  const SourceColumns& source = points.source;
  std::vector<int64_t> places(source.numbers.size(), -1);
  if (source.rules.empty() && std::ssize(source.numbers) != points.view.d) {
    const bool last_is_one = !source.names.empty() && !points.column_names.empty() &&
                             source.names.back() == points.column_names.back();  // columns of a list have other names
    if (last_is_one) places.back() = points.view.d - 1;
    return places;
  }
  int64_t place = 0;
  for (size_t f = 0; f < places.size(); ++f) {
    const bool categorical = !source.rules.empty() && source.rules[f].categorical;
    if (!categorical) places[f] = place;
    place += categorical ? std::ssize(source.rules[f].categories) : 1;
  }
  return places;
}

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
  const auto at = std::ranges::find(numbers, number);
  if (at == numbers.end()) return std::nullopt;
  const int64_t place = places_of_fields(points)[static_cast<size_t>(at - numbers.begin())];
  return place < 0 ? std::nullopt : std::optional(place);
}

void put_last(SourceColumns& source, std::ptrdiff_t field) {
  const auto rotate = [&](auto& values) {
    if (!values.empty()) std::rotate(values.begin() + field, values.begin() + field + 1, values.end());
  };
  rotate(source.numbers);
  rotate(source.names);
  rotate(source.rules);
}

std::string columns_read(const Dataset& points) {
  constexpr size_t kMax = 20;
  const auto list = [kMax](const auto& all) {
    return fmt::format("{}{}", fmt::join(std::span(all).first(std::min(kMax, all.size())), ", "),
                       all.size() > kMax ? ", ..." : "");
  };
  return points.column_names.empty() ? list(points.source.numbers) : list(points.column_names);
}

constexpr ColumnAdvice kTargetAdvice = {"the target needs numbers: --target names another column",
                                        "the target needs numbers: --missing drop leaves such rows out"};

void check_one_use(const std::string& target, const ReadOptions& options) {
  for (const auto& [flag, column] : {std::pair{"--weights", &options.weights}, std::pair{"--id", &options.id}}) {
    if (*column != target) continue;
    throw Error(ErrorCode::kUsage, "--target",
                fmt::format("is '{}', and so is {}; the target needs a column of its own", shown(target), flag));
  }
}

}  // namespace

Dataset read_with_target(const DataFiles& data, const ReadOptions& options, const std::string& target) {
  check_one_use(target, options);
  ReadOptions with_target = options;
  if (!options.columns.empty()) with_target.columns.push_back(target);
  Dataset points;
  try {
    points = data.read(with_target);
  } catch (const Error& error) {
    throw about_column(error, target, kTargetAdvice);
  }
  const auto place = find_target(points, target);
  if (!place) {
    const bool taken = !options.weights.empty() || !options.id.empty();
    throw Error(
        ErrorCode::kUsage, "--target",
        fmt::format("{} has no column of numbers '{}'{}; a name or a number is right, of the columns {}", data.name(),
                    shown(target), taken ? " beside those of --weights and --id" : "", columns_read(points)));
  }
  if (points.view.d < 2) {
    throw Error(ErrorCode::kUsage, "--target",
                data.name() + " has no column except the target; a regression needs one");
  }
  if (*place == points.view.d - 1) return points;
  std::vector<int64_t> order(static_cast<size_t>(points.view.d));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + *place, order.begin() + *place + 1, order.end());
  const std::vector<int64_t> fields = places_of_fields(points);
  keep_columns(points, order);
  // Where a column of text is several columns of the points, that has left the columns of the file as they were.
  const auto field = std::ranges::find(fields, *place);
  if (std::ssize(fields) != points.view.d && field != fields.end()) put_last(points.source, field - fields.begin());
  return points;
}

}  // namespace manymeans::cli
