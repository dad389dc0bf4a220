#include "io/table/preparation_rules.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "io/table/short_list.h"
#include "io/table/text_advice.h"
#include "io/table/text_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

namespace manymeans {
namespace {

std::string row_of_example(const RawTable& table, const RawColumn& column) {
  Dataset shell;
  shell.first_line = table.first_line;
  shell.shards = table.shards;
  return row_label(shell, column.example_row);
}

[[noreturn]] void refuse_text(const RawTable& table, const RawColumn& column) {
  const OddText odd{.text = column.example,
                    .column = column.name,
                    .row = column.example_row,
                    .numbers = column.numbers,
                    .texts = column.texts,
                    .decimal = table.decimal};
  std::string hint = advice_about(odd);
  if (hint.empty()) hint = "make each text a column with --categories onehot, or leave the column out with --exclude";
  throw Error(ErrorCode::kBadData, table.path,
              fmt::format("{}, {}: '{}' is not a number; {}", row_of_example(table, column), column.label(),
                          column.example, hint));
}

void check_categories(const RawTable& table, const RawColumn& column, int64_t most) {
  if (looks_like_date(column.example)) refuse_text(table, column);
  const auto found = std::ssize(column.categories);
  if (found <= most) return;
  throw Error(ErrorCode::kBadData, table.path,
              fmt::format("{} has more than {} different texts ('{}', ...), and each would become a column; leave it "
                          "out with --exclude, or allow more with --most-categories",
                          column.label(), most, column.example));
}

double median(const PointsView& view, size_t column) {
  std::vector<double> values;
  for (int64_t i = 0; i < view.n; ++i) {
    double value = 0;
    widen(view.data, view.type, i * view.d + static_cast<int64_t>(column), 1, &value);
    if (std::isfinite(value)) values.push_back(value);
  }
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return *std::max_element(values.begin(), middle) / 2 + *middle / 2;
}

// The values that replace gaps, for all columns of numbers alike.
class Fills {
 public:
  Fills(const RawTable& table, const ReadOptions& options) : table_(table), rules_(options.rules) {
    if (rules_.missing == Missing::kMean) summaries_ = summarise_columns(table.view, options.threads);
  }

  std::optional<double> of(size_t place) const {
    if (table_.columns[place].categorical) return rules_.missing == Missing::kError ? std::nullopt : std::optional(0.0);
    switch (rules_.missing) {
      case Missing::kError:
      case Missing::kDrop: return std::nullopt;
      case Missing::kValue: return rules_.missing_value;
      case Missing::kMean: return some(summaries_[place].mean, place);
      case Missing::kMedian: break;
    }
    return some(median(table_.view, place), place);
  }

 private:
  std::optional<double> some(double value, size_t place) const {
    if (std::isfinite(value)) return value;
    throw Error(ErrorCode::kBadData, table_.path,
                fmt::format("{} has no finite number to fill its gaps with; leave it out with --exclude, or "
                            "give a number: --missing 0",
                            table_.columns[place].label()));
  }

  const RawTable& table_;
  const TableRules& rules_;
  std::vector<ColumnSummary> summaries_;
};

// The place of each code of the table among these categories.
std::vector<int64_t> places_of(const std::vector<std::string>& texts, const std::vector<std::string>& categories) {
  std::vector<int64_t> places;
  for (const std::string& text : texts) {
    const auto at = std::ranges::lower_bound(categories, text);
    places.push_back(at != categories.end() && *at == text ? at - categories.begin() : -1);
  }
  places.push_back(-1);  // the code of all others
  return places;
}

void place_columns(PreparationRules& rules) {
  int64_t first = 0;
  for (PreparedColumn& column : rules.columns) {
    column.first = first;
    first += column.width();
  }
}

PreparationRules rules_from_table(const RawTable& table, const ReadOptions& options) {
  PreparationRules rules;
  rules.drops_gaps = options.rules.missing == Missing::kDrop;
  const Fills fills(table, options);
  ShortList left_out;
  for (size_t place = 0; place < table.columns.size(); ++place) {
    const RawColumn& column = table.columns[place];
    if (column.categorical && !options.rules.one_hot) {
      if (!options.numeric_only) refuse_text(table, column);
      left_out.add(fmt::format("{} ('{}' in {})", column.label(), column.example, row_of_example(table, column)));
      continue;
    }
    PreparedColumn& prepared = rules.columns.emplace_back();
    prepared.place = place;
    prepared.rule.categorical = column.categorical;
    if (column.categorical) {
      check_categories(table, column, options.rules.max_categories);
      prepared.rule.categories = column.categories;
      std::ranges::sort(prepared.rule.categories);
      prepared.categories = places_of(column.categories, prepared.rule.categories);
    }
    prepared.rule.fill = fills.of(place);
  }
  if (!left_out.empty()) rules.warnings.push_back("columns that hold text were left out: " + left_out.text());
  if (rules.columns.empty()) {
    throw Error(ErrorCode::kBadData, table.path, "no column is left: all of them hold text; points need numbers");
  }
  return rules;
}

PreparationRules rules_from_model(const RawTable& table, const SourceColumns& fit) {
  PreparationRules rules;
  rules.drops_gaps = fit.drops_gaps;
  if (fit.rules.size() != table.columns.size()) {
    throw Error(ErrorCode::kBadData, table.path,
                fmt::format("{} columns were chosen, the model was fitted to {}; leave out --columns, or choose these",
                            table.columns.size(), fit.rules.size()));
  }
  for (size_t place = 0; place < table.columns.size(); ++place) {
    const RawColumn& column = table.columns[place];
    if (column.categorical && !fit.rules[place].categorical) refuse_text(table, column);
    PreparedColumn& prepared = rules.columns.emplace_back();
    prepared.place = place;
    prepared.rule = fit.rules[place];
    if (prepared.rule.categorical) prepared.categories = places_of(column.categories, prepared.rule.categories);
  }
  return rules;
}

}  // namespace

PreparationRules find_rules(const RawTable& table, const ReadOptions& options) {
  const bool like = options.like && !options.like->source.rules.empty();
  PreparationRules rules = like ? rules_from_model(table, options.like->source) : rules_from_table(table, options);
  place_columns(rules);
  return rules;
}

}  // namespace manymeans
