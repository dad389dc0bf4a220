#include "io/table/preparation.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "core/threads.h"
#include "io/table/preparation_rules.h"
#include "io/table/short_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

constexpr double kMostlyFilled = 0.5;  // of the cells of a column
constexpr int64_t kRowsOfPiece = 1024;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// The counts of one thread.
struct Tally {
  explicit Tally(size_t columns) : filled(columns), unknown(columns), lost(columns) {}
  std::vector<int64_t> filled, unknown;  // cells, for each column
  LostIntegers lost;
  int64_t bad_row = kNone;  // the first one that cannot be stored

  void merge(const Tally& other) {
    for (size_t j = 0; j < filled.size(); ++j) {
      filled[j] += other.filled[j];
      unknown[j] += other.unknown[j];
    }
    lost.merge(other.lost);
    bad_row = std::min(bad_row, other.bad_row);
  }
};

class Preparation {
 public:
  Preparation(RawTable table, const ReadOptions& options)
      : table_(std::move(table)),
        options_(options),
        pool_(thread_count(options.threads)),
        rules_(find_rules(table_, options)) {
    const bool wide = std::ranges::any_of(rules_.columns, [&](const PreparedColumn& column) {
      return !column.rule.categorical && table_.columns[column.place].wide;
    });
    type_ = wanted_type(options, std::nullopt).value_or(wide ? DataType::kFloat64 : DataType::kFloat32);
  }

  Dataset run();

 private:
  void find_gaps();
  void choose_rows();
  void prepare_row(int64_t row, std::vector<double>& raw, std::vector<double>& values, Tally& tally) const;
  void note_lost(int64_t row, size_t f, double value, Tally& tally) const;
  [[noreturn]] void refuse_gap(int64_t row, size_t column) const;
  [[noreturn]] void refuse_value(int64_t row) const;
  void describe(Dataset& result) const;
  void warn(Dataset& result, const Tally& tally) const;
  std::string row_name(int64_t row) const;
  const RawColumn& raw_of(const PreparedColumn& column) const { return table_.columns[column.place]; }

  RawTable table_;
  const ReadOptions& options_;
  ThreadPool pool_;
  PreparationRules rules_;
  DataType type_ = DataType::kFloat32;
  std::vector<int64_t> dropped_;
  std::vector<int64_t> kept_;  // rows of the table that become points
  int64_t rows_left_ = 0;      // that are not dropped
};

std::string Preparation::row_name(int64_t row) const {
  Dataset shell;
  shell.first_line = table_.first_line;
  shell.shards = table_.shards;
  return row_label(shell, row + 1);
}

void Preparation::refuse_gap(int64_t row, size_t column) const {
  throw Error(
      ErrorCode::kBadData, table_.path,
      fmt::format("{}, {}: there is no value; fill gaps with --missing mean, median or a number, drop their rows "
                  "with --missing drop, or leave the column out with --exclude",
                  row_name(row), raw_of(rules_.columns[column]).label()));
}

// Rows with gaps: dropped, or the first one is an error where no rule fills it.
void Preparation::find_gaps() {
  std::vector<std::vector<int64_t>> found(static_cast<size_t>(pool_.size()));
  pool_.for_each_range(table_.view.n, kRowsOfPiece, [&](int worker, int64_t first, int64_t last) {
    std::vector<double> raw(static_cast<size_t>(table_.view.d));
    for (int64_t i = first; i < last; ++i) {
      widen_row(table_.view, i, raw.data());
      const bool gap = std::ranges::any_of(rules_.columns, [&](const PreparedColumn& column) {
        return std::isnan(raw[column.place]) && (rules_.drops_gaps || !column.rule.fill);
      });
      if (gap) found[static_cast<size_t>(worker)].push_back(i);
    }
  });
  for (const auto& rows : found) dropped_.insert(dropped_.end(), rows.begin(), rows.end());
  std::ranges::sort(dropped_);
  if (dropped_.empty() || rules_.drops_gaps) return;
  std::vector<double> raw(static_cast<size_t>(table_.view.d));
  widen_row(table_.view, dropped_[0], raw.data());
  for (size_t f = 0; f < rules_.columns.size(); ++f) {
    const PreparedColumn& column = rules_.columns[f];
    if (std::isnan(raw[column.place]) && !column.rule.fill) refuse_gap(dropped_[0], f);
  }
}

void Preparation::choose_rows() {
  if (!dropped_.empty() && options_.part.count > 1) {
    throw Error(ErrorCode::kUsage, "missing",
                "rows with gaps can be dropped by one process only, not by several that share them; fill the gaps");
  }
  rows_left_ = table_.view.n - std::ssize(dropped_);
  const int64_t begin = options_.part.begin(rows_left_), end = options_.part.end(rows_left_);
  auto gap = dropped_.begin();
  for (int64_t row = 0, number = 0; row < table_.view.n; ++row) {
    if (gap != dropped_.end() && *gap == row) {
      ++gap;
      continue;
    }
    if (number >= begin && number < end) kept_.push_back(row);
    ++number;
  }
}

void Preparation::note_lost(int64_t row, size_t f, double value, Tally& tally) const {
  if (type_ != DataType::kFloat32 || static_cast<double>(static_cast<float>(value)) == value) return;
  if (tally.lost.seen(f) || !std::isfinite(value) || std::trunc(value) != value) return;
  tally.lost.add(f, table_.first_line > 0 ? table_.first_line + row : row + 1, fmt::format("{:.0f}", value));
}

// The values of one row of the points.
void Preparation::prepare_row(int64_t row, std::vector<double>& raw, std::vector<double>& values, Tally& tally) const {
  widen_row(table_.view, row, raw.data());
  std::ranges::fill(values, 0.0);
  for (size_t f = 0; f < rules_.columns.size(); ++f) {
    const PreparedColumn& column = rules_.columns[f];
    const double value = raw[column.place];
    double* out = values.data() + column.first;
    if (std::isnan(value)) {
      ++tally.filled[f];
      if (!column.rule.categorical) *out = *column.rule.fill;
    } else if (column.rule.categorical) {
      const int64_t category = column.categories[static_cast<size_t>(value)];
      if (category >= 0) out[category] = 1;
      tally.unknown[f] += category < 0 ? 1 : 0;
    } else {
      *out = value;
      note_lost(row, f, value, tally);
    }
  }
}

void Preparation::refuse_value(int64_t row) const {
  Tally ignored(rules_.columns.size());
  std::vector<double> raw(static_cast<size_t>(table_.view.d)), values(static_cast<size_t>(rules_.width()));
  prepare_row(row, raw, values, ignored);
  RowStore one(1, rules_.width(), type_, table_.path);
  const int64_t bad = one.store(0, values.data());
  const auto column =
      std::ranges::find_if(rules_.columns, [&](const PreparedColumn& c) { return bad < c.first + c.width(); });
  throw Error(ErrorCode::kBadData, table_.path,
              fmt::format("{}, {}: {} is not exact in {}; use a wider --dtype", row_name(row), raw_of(*column).label(),
                          values[static_cast<size_t>(bad)], name_of(type_)));
}

Dataset Preparation::run() {
  find_gaps();
  choose_rows();
  const auto rows = std::ssize(kept_);
  RowStore store(rows, rules_.width(), type_, table_.path, options_.memory);
  std::vector<Tally> tallies(static_cast<size_t>(pool_.size()), Tally(rules_.columns.size()));
  pool_.for_each_range(rows, kRowsOfPiece, [&](int worker, int64_t first, int64_t last) {
    Tally& tally = tallies[static_cast<size_t>(worker)];
    std::vector<double> raw(static_cast<size_t>(table_.view.d)), values(static_cast<size_t>(rules_.width()));
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = kept_[static_cast<size_t>(i)];
      prepare_row(row, raw, values, tally);
      if (store.store(i, values.data()) >= 0) tally.bad_row = std::min(tally.bad_row, row);
    }
    store.give_back(first, last);
  });
  for (size_t i = 1; i < tallies.size(); ++i) tallies[0].merge(tallies[i]);
  if (tallies[0].bad_row != kNone) refuse_value(tallies[0].bad_row);
  Dataset result;
  result.view = store.view();
  result.owner = store.owner();
  describe(result);
  result.zero_gaps.resize(static_cast<size_t>(rules_.width()));
  for (size_t f = 0; f < rules_.columns.size(); ++f) {
    const PreparedColumn& column = rules_.columns[f];
    const bool zero = !column.rule.categorical && column.rule.fill == 0.0 && tallies[0].filled[f] > 0;
    result.zero_gaps[static_cast<size_t>(column.first)] = zero;
  }
  warn(result, tallies[0]);
  return result;
}

// All but the points themselves.
void Preparation::describe(Dataset& result) const {
  result.path = table_.path;
  result.first_line = table_.first_line;
  result.file_rows = rows_left_;
  result.dropped = dropped_;
  result.shards = table_.shards;
  result.source.count = table_.file_columns;
  result.source.drops_gaps = rules_.drops_gaps;
  result.source.decimal = table_.decimal;
  bool has_names = false, named = false;
  for (const PreparedColumn& column : rules_.columns) {
    const RawColumn& raw = raw_of(column);
    result.source.numbers.push_back(raw.number);
    result.source.names.push_back(raw.name);
    result.source.rules.push_back(column.rule);
    has_names |= !raw.name.empty();
    named |= column.rule.categorical;
    const std::string name = raw.name.empty() ? fmt::format("c{}", raw.number) : raw.name;
    if (!column.rule.categorical) result.column_names.push_back(name);
    for (const std::string& category : column.rule.categories) result.column_names.push_back(name + "=" + category);
  }
  if (!has_names) result.source.names.clear();
  if (!has_names && !named) result.column_names.clear();
  result.ids = table_.ids;
  result.id_name = table_.id_name;
  if (table_.weights.empty()) return;
  for (const int64_t row : kept_) result.weights.push_back(table_.weights[static_cast<size_t>(row)]);
}

void Preparation::warn(Dataset& result, const Tally& tally) const {
  result.warnings = table_.warnings;
  result.warnings.insert(result.warnings.end(), rules_.warnings.begin(), rules_.warnings.end());
  if (!dropped_.empty()) {
    result.warnings.push_back(fmt::format("{} of {} rows have gaps and were left out, first {}; they have no label",
                                          dropped_.size(), table_.view.n, row_name(dropped_[0])));
  }
  ShortList filled, unknown, mostly;
  std::vector<std::string> labels;
  for (size_t f = 0; f < rules_.columns.size(); ++f) {
    const PreparedColumn& column = rules_.columns[f];
    labels.push_back(raw_of(column).label());
    const std::string by =
        column.rule.categorical ? "no category" : fmt::format("{:.6g}", column.rule.fill.value_or(0));
    if (tally.filled[f] > 0) filled.add(fmt::format("{} in {} by {}", tally.filled[f], labels.back(), by));
    if (tally.unknown[f] > 0) unknown.add(fmt::format("{} in {}", tally.unknown[f], labels.back()));
    const double share = static_cast<double>(tally.filled[f]) / static_cast<double>(std::ssize(kept_));
    if (!options_.like && share > kMostlyFilled) mostly.add(fmt::format("{} ({:.0f} %)", labels.back(), 100 * share));
  }
  if (!mostly.empty()) {
    result.warnings.push_back("most values are filled gaps, and make rows look alike, in " + mostly.text() +
                              "; leave out with --exclude what is mostly empty");
  }
  if (!filled.empty()) result.warnings.push_back("gaps were filled: " + filled.text());
  if (!unknown.empty()) {
    result.warnings.push_back("texts that the fit had not seen belong to no category: " + unknown.text());
  }
  const std::string place = table_.first_line > 0 ? "line" : "row";
  std::vector<std::string> all_labels;
  for (const RawColumn& column : table_.columns) all_labels.push_back(column.label());
  const auto add = [&](std::optional<std::string> text) {
    if (text) result.warnings.push_back(std::move(*text));
  };
  add(lost_integers_warning(table_.lost, all_labels, DataType::kFloat64, place));
  add(lost_integers_warning(tally.lost, labels, type_, place));
}

}  // namespace

bool needs_preparation(const ReadOptions& options) {
  return options.rules.any() || (options.like && !options.like->source.rules.empty());
}

size_t categories_to_remember(const ReadOptions& options) {
  size_t most = static_cast<size_t>(std::max<int64_t>(0, options.rules.max_categories)) + 1;
  if (!options.like) return most;
  for (const ColumnRule& rule : options.like->source.rules) most = std::max(most, 2 * rule.categories.size());
  return most;
}

Dataset prepare_points(RawTable table, const ReadOptions& options) {
  return Preparation(std::move(table), options).run();
}

}  // namespace manymeans
