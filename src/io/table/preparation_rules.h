// The columns that a table becomes: found in the table, or taken over from a model's fit.
#pragma once

#include <manymeans/io.h>

#include "io/table/raw_table.h"

#include <vector>

namespace manymeans {

/// A column of the table that becomes columns of the points.
struct PreparedColumn {
  size_t place = 0;  ///< in RawTable::columns
  ColumnRule rule;
  std::vector<int64_t> categories;  ///< for each code of the table the place in rule.categories; -1: it is not there
  int64_t first = 0;                ///< of its columns of the points

  int64_t width() const { return rule.categorical ? static_cast<int64_t>(rule.categories.size()) : 1; }
};

struct PreparationRules {
  std::vector<PreparedColumn> columns;
  bool drops_gaps = false;
  std::vector<std::string> warnings;  ///< what was left out

  int64_t width() const { return columns.empty() ? 0 : columns.back().first + columns.back().width(); }
};

/// By options.rules, or as options.like has them. Throws as prepare_points() does, for whole columns.
PreparationRules find_rules(const RawTable& table, const ReadOptions& options);

}  // namespace manymeans
