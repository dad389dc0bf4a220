#include "fitting/target_column.h"

#include <manymeans/error.h>
#include <manymeans/regress.h>

#include "flags/flag_values.h"
#include "flags/model_columns.h"
#include "flags/reworded.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace manymeans::cli {
namespace {

// For each column of the file where its columns of the points begin; -1: fields of lists do not say that.
std::vector<int64_t> places_of_fields(const Dataset& points) {
  const SourceColumns& source = points.source;
  std::vector<int64_t> places(source.numbers.size(), -1);
  if (source.rules.empty() && std::ssize(source.numbers) != points.view.d) return places;
  int64_t place = 0;
  for (size_t f = 0; f < places.size(); ++f) {
    places[f] = place;
    const bool categorical = !source.rules.empty() && source.rules[f].categorical;
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

// Messages about a column advise to leave it out, or to make columns of 0 and 1 from it. The target allows neither.
std::string about_target(const std::string& what, const std::string& target) {
  const size_t end = what.find("; ");
  const bool named = what.find(fmt::format("('{}')", target)) < end;
  const bool numbered =
      what.find(fmt::format("column {}:", target)) < end || what.find(fmt::format("column {} (", target)) < end;
  const bool advises = end != std::string::npos && (what.find("--exclude", end) != std::string::npos ||
                                                    what.find("--numeric-only", end) != std::string::npos);
  if (!(named || numbered) || !advises) return what;
  const bool gap = what.find("--missing", end) != std::string::npos;
  return what.substr(0, end) + "; the target needs numbers: " +
         (gap ? "--missing drop leaves such rows out" : "--target names another column");
}

}  // namespace

Dataset read_with_target(const DataFiles& data, const ReadOptions& options, const std::string& target) {
  ReadOptions with_target = options;
  if (!options.columns.empty()) with_target.columns.push_back(target);
  Dataset points;
  try {
    points = data.read(with_target);
  } catch (const Error& error) {
    throw reworded(error, [&](const std::string& what) { return about_target(what, target); });
  }
  // Chosen columns keep the order in which the user named them.
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
  const std::vector<int64_t> fields = places_of_fields(points);
  keep_columns(points, order);
  // Where a column of text is several columns of the points, that has left the columns of the file as they were.
  const auto field = std::ranges::find(fields, *place);
  if (std::ssize(fields) != points.view.d && field != fields.end()) put_last(points.source, field - fields.begin());
  return points;
}

}  // namespace manymeans::cli
