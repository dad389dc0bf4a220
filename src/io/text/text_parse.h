// Rows of text to numbers, on all threads. The results do not depend on their number.
#pragma once

#include "core/threads.h"
#include "io/table/category_table.h"
#include "io/table/row_store.h"
#include "io/table/table_survey.h"
#include "io/text/text_layout.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace manymeans {

/// How much of what float32 would lose is looked for.
enum class Float32Search : uint8_t {
  kNone,
  kLong,  ///< whether any number has more than six digits: then TextPoints::is_long, and the rest is not parsed
  kFull,  ///< whether the columns need float64: then TextPoints::wide, and the rest is not parsed
};

/// Which fields become what.
struct TextPlan {
  std::vector<int64_t> columns;  ///< fields (from 0) that become the columns of the points, in this order
  int64_t weight = -1;           ///< field that is the weight; -1: none
  DataType type = DataType::kFloat32;
  Float32Search search = Float32Search::kNone;
  /// Text in a column is noted instead of being an error; the values of that column are then 0.
  bool note_text = false;
  int64_t id = -1;  ///< field that names the row; -1: none
  /// Empty fields and text are NaN, and are counted with the numbers (TextPoints::survey).
  bool survey = false;
  /// With `survey`, a table for each column: words for gaps (is_gap) count as empty, and other text becomes its code.
  std::vector<CategoryTable>* categories = nullptr;
  std::vector<bool> categorical = {};  ///< with `categories`: columns in which numbers are text, too
  RowPart part;  ///< the rows that become points; the others are counted, and looked at where all decide something
  int64_t memory = 0;  ///< as in ReadOptions
};

struct TextPoints {
  std::unique_ptr<RowStore> points;
  int64_t file_rows = 0;
  std::vector<double> weights;
  std::vector<std::string> ids;  ///< of the rows that became points, with TextPlan::id
  LostIntegers lost{0};
  std::vector<TextExample> text;  ///< per column of the points, with note_text
  /// Per column of the points: the first number with a point between thousands, where nothing else in the column says
  /// that a point is no decimal sign.
  std::vector<TextExample> thousands;
  bool trouble = false;              ///< with note_text: there is an error, which a parse without it will name
  std::vector<ColumnSurvey> survey;  ///< per column of the points, with `survey`
  std::vector<bool> wide_columns;    ///< likewise: which of them float32 does not hold
  bool is_long = false;              ///< to be parsed again, with Float32Search::kFull
  bool wide = false;                 ///< to be parsed again, as float64
};

/// Throws Error(kBadData) for the first line that does not fit: file, line, column, what was found.
TextPoints parse_text(const TextLayout& layout, const TextPlan& plan, const std::string& path, ThreadPool& pool);

}  // namespace manymeans
