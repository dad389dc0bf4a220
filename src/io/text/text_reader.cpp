// .csv, .tsv, space-separated text, and their .gz.
#include <manymeans/error.h>

#include "core/threads.h"
#include "io/files/gzip.h"
#include "io/files/mapped_file.h"
#include "io/table/column_selection.h"
#include "io/table/reader.h"
#include "io/text/text_layout.h"
#include "io/text/text_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

// The text of a file, inflated where needed.
struct TextFile {
  TextFile(const std::string& path, int64_t memory) : file(MappedFile::open(path, Access::kOnce)), text(file->text()) {
    if (!is_gzip(text)) return;
    inflated = inflate_gzip(text, path, memory);
    text = inflated.text();
    file.reset();
    if (text.empty()) throw Error(ErrorCode::kBadData, path, "the file is empty (0 bytes inflated); points are needed");
  }
  std::shared_ptr<const MappedFile> file;
  ByteBuffer inflated;
  std::string_view text;
};

// Takes the columns that hold text out of the plan and says so.
class TextColumns {
 public:
  TextColumns(const TextLayout& layout, const std::string& path) : layout_(layout), path_(path) {}

  void leave_out(TextPlan& plan, const std::vector<TextExample>& examples) {
    std::vector<int64_t> kept;
    for (size_t j = 0; j < plan.columns.size(); ++j) {
      if (examples[j].line < 0) {
        kept.push_back(plan.columns[j]);
      } else {
        left_out_.push_back({plan.columns[j], examples[j]});
      }
    }
    plan.columns = std::move(kept);
    if (plan.columns.empty()) {
      throw Error(ErrorCode::kBadData, path_, "no column is left: all of them hold text; points need numbers");
    }
  }

  std::optional<std::string> warning() {
    if (left_out_.empty()) return std::nullopt;
    std::sort(left_out_.begin(), left_out_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string list;
    for (const auto& [column, example] : left_out_) {
      list += fmt::format("{}{} ('{}' in line {})", list.empty() ? "" : ", ", layout_.columns.label(column),
                          example.text, example.line);
    }
    return "columns that hold text were left out: " + list;
  }

 private:
  const TextLayout& layout_;
  const std::string& path_;
  std::vector<std::pair<int64_t, TextExample>> left_out_;
};

// Threads keep some hundred bytes for each column: as many of them as the text fills, not the machine.
int threads_for(const TextLayout& layout, int threads) {
  constexpr int64_t kTextForEach = 128;  // bytes of text for each column of a thread
  const auto size = static_cast<int64_t>(layout.body.size());
  const int64_t filled = 1 + size / (kTextForEach * std::max<int64_t>(1, layout.columns.count));
  return static_cast<int>(std::min<int64_t>(thread_count(threads), filled));
}

TextPlan make_plan(const TextLayout& layout, const ReadOptions& options, const std::string& path) {
  TextPlan plan;
  plan.columns = wanted_columns(layout.columns, options, path);
  const std::optional<DataType> type = wanted_type(options, std::nullopt);
  plan.type = type.value_or(DataType::kFloat32);
  plan.search = type ? Float32Search::kNone : Float32Search::kLong;
  plan.note_text = options.numeric_only;
  plan.memory = options.memory;
  plan.part = options.part;
  if (!options.weights.empty()) plan.weight = find_column(layout.columns, options.weights).value_or(-1);
  std::erase(plan.columns, plan.weight);
  if (plan.columns.empty()) {
    throw Error(ErrorCode::kBadData, path, "no column is left beside the weights; choose at least one");
  }
  return plan;
}

// Binary64 for what is a number, NaN for the rest.
TextPlan survey_plan(const TextLayout& layout, const ReadOptions& options, const std::string& path) {
  TextPlan plan = make_plan(layout, options, path);
  plan.type = DataType::kFloat64;
  plan.note_text = false;
  plan.search = Float32Search::kFull;
  plan.survey = true;
  return plan;
}

// The columns that are described, of those that were looked at: all, or with --numeric-only those without text.
std::vector<size_t> described(const TextPoints& points, TextPlan plan, TextColumns* text_columns) {
  std::vector<size_t> kept(plan.columns.size());
  std::iota(kept.begin(), kept.end(), size_t{0});
  if (text_columns == nullptr) return kept;
  std::vector<TextExample> examples;
  for (const ColumnSurvey& column : points.survey) examples.push_back({column.example_line, column.example});
  text_columns->leave_out(plan, examples);
  std::erase_if(kept, [&](size_t j) { return examples[j].line >= 0; });
  return kept;
}

TableSummary survey_text(const std::string& path, const ReadOptions& options) {
  const TextFile file(path, options.memory);
  const TextLayout layout = find_layout(file.text, path);
  const TextPlan plan = survey_plan(layout, options, path);
  ThreadPool pool(threads_for(layout, options.threads));
  const TextPoints points = parse_text(layout, plan, path, pool);
  if (points.file_rows == 0) throw Error(ErrorCode::kBadData, path, "it holds names of columns and no rows");
  const std::vector<ColumnSummary> values = summarise_columns(points.points->view(), pool.size());
  TextColumns text_columns(layout, path);
  TableSummary table;
  table.rows = points.points->view().n;
  table.warnings = layout.warnings;
  for (const size_t j : described(points, plan, options.numeric_only ? &text_columns : nullptr)) {
    TableColumn column;
    column.number = plan.columns[j] + 1;
    column.name = layout.columns.name(plan.columns[j]);
    column.wide = points.wide_columns[j];
    points.survey[j].describe(column, values[j]);
    if (column.wide && column.text == 0) table.type = DataType::kFloat64;
    table.columns.push_back(std::move(column));
  }
  table.type = options.dtype.value_or(table.type);
  if (auto warning = text_columns.warning()) table.warnings.push_back(std::move(*warning));
  return table;
}

// Parses until the columns and the type are those that the text needs; most files are parsed once.
TextPoints parse_as_needed(const TextLayout& layout, TextPlan& plan, TextColumns& text_columns, const std::string& path,
                           ThreadPool& pool) {
  TextPoints points = parse_text(layout, plan, path, pool);
  if (points.is_long) {
    plan.search = Float32Search::kFull;
    points = {};  // the memory, before it is needed again
    points = parse_text(layout, plan, path, pool);
  }
  const auto has_text = [](const TextExample& example) { return example.line >= 0; };
  if (plan.note_text && (points.trouble || std::any_of(points.text.begin(), points.text.end(), has_text))) {
    text_columns.leave_out(plan, points.text);
    plan.note_text = false;
    points = {};
    points = parse_text(layout, plan, path, pool);
  }
  if (points.wide) {
    plan.type = DataType::kFloat64;
    plan.note_text = false;
    plan.search = Float32Search::kNone;
    points = {};
    points = parse_text(layout, plan, path, pool);
  }
  return points;
}

Dataset read_text(const std::string& path, const ReadOptions& options) {
  const TextFile file(path, options.memory);
  const TextLayout layout = find_layout(file.text, path);
  TextPlan plan = make_plan(layout, options, path);
  ThreadPool pool(threads_for(layout, options.threads));
  TextColumns text_columns(layout, path);
  if (plan.note_text) {
    std::vector<TextExample> early;  // what the first lines show already costs no second parse
    for (const int64_t column : plan.columns) early.push_back(layout.text[static_cast<size_t>(column)]);
    text_columns.leave_out(plan, early);
  }
  const bool open = plan.search == Float32Search::kLong;
  TextPoints points = parse_as_needed(layout, plan, text_columns, path, pool);
  Dataset result;
  result.type_from_values = open && plan.search != Float32Search::kLong;
  result.view = points.points->view();
  result.file_rows = points.file_rows;
  result.owner = points.points->owner();
  result.weights = std::move(points.weights);
  result.warnings = layout.warnings;
  result.source = source_columns(layout.columns, plan.columns);
  result.first_line = layout.first_line;
  std::vector<std::string> labels;
  for (const int64_t column : plan.columns) {
    labels.push_back(layout.columns.label(column));
    if (!layout.columns.names.empty()) result.column_names.push_back(layout.columns.name(column));
  }
  if (auto warning = text_columns.warning()) result.warnings.push_back(std::move(*warning));
  if (auto warning = lost_integers_warning(points.lost, labels, plan.type, "line")) {
    result.warnings.push_back(std::move(*warning));
  }
  return result;
}

}  // namespace

Reader make_text_reader() {
  return {"text: comma, tab, semicolon or blanks between numbers, with or without a header (.csv, .tsv, .txt, .gz)",
          {".csv", ".tsv", ".txt", ".gz"},
          read_text,
          /*has_members=*/false,
          survey_text};
}

}  // namespace manymeans
