// .csv, .tsv, space-separated text, and the same packed.
#include <manymeans/error.h>

#include "core/threads.h"
#include "io/files/mapped_file.h"
#include "io/files/unpack.h"
#include "io/table/column_selection.h"
#include "io/table/preparation.h"
#include "io/table/reader.h"
#include "io/table/short_list.h"
#include "io/text/text_layout.h"
#include "io/text/text_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

// The text of a file, unpacked where needed.
struct TextFile {
  TextFile(const std::string& path, int64_t memory)
      : file(MappedFile::open(path, Access::kOnce, memory)), text(file->text()) {
    if (!is_packed(text)) return;
    unpacked = unpack(text, path, memory);
    text = unpacked.text();
    file.reset();
    if (text.empty()) throw Error(ErrorCode::kBadData, path, "the file is empty (0 bytes unpacked); points are needed");
  }
  std::shared_ptr<const MappedFile> file;
  ByteBuffer unpacked;
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

  // `fits`: what reads the points knows --missing, too.
  std::optional<std::string> warning(bool fits) {
    if (left_out_.empty()) return std::nullopt;
    std::sort(left_out_.begin(), left_out_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ShortList list;
    std::string gap;
    for (const auto& [column, example] : left_out_) {
      if (gap.empty() && is_gap(example.text)) gap = example.text;
      list.add(fmt::format("{} ('{}' in line {})", layout_.columns.label(column), example.text, example.line));
    }
    std::string warning = "columns that hold text were left out: " + list.text();
    if (fits && !gap.empty()) warning += "; numbers with gaps such as '" + gap + "' stay with --missing";
    if (const std::string advice = comma_advice(layout_); !advice.empty()) warning += "; " + advice;
    return warning;
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

// A number such as 1.500 has a point between thousands only by what --decimal says.
void warn_of_thousands(const TextLayout& layout, const TextPlan& plan, const TextPoints& points,
                       std::vector<std::string>& warnings) {
  ShortList list;
  for (size_t j = 0; j < plan.columns.size(); ++j) {
    const TextExample& example = points.thousands[j];
    if (example.line < 0 || (plan.categories != nullptr && points.survey[j].text > 0)) continue;
    std::string whole = example.text;
    std::erase(whole, '.');
    list.add(fmt::format("{} ('{}' in line {} was read as {})", layout.columns.label(plan.columns[j]), example.text,
                         example.line, whole));
  }
  if (list.empty()) return;
  warnings.push_back("points between thousands, and no decimal comma: " + list.text() +
                     "; if these are decimal points, leave --decimal , out");
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
  plan.id = find_column(layout.columns, options.id).value_or(-1);
  if (plan.columns.empty()) {
    throw Error(ErrorCode::kBadData, path, "no column is left except the weights; choose at least one");
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

// The described columns, among the scanned ones: all, or with --numeric-only the columns without text.
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
  const TextLayout layout = find_layout(file.text, path, form_of(options));
  const TextPlan plan = survey_plan(layout, options, path);
  ThreadPool pool(threads_for(layout, options.threads));
  const TextPoints points = parse_text(layout, plan, path, pool);
  if (points.file_rows == 0) throw Error(ErrorCode::kBadData, path, "it holds names of columns and no rows");
  const std::vector<ColumnSummary> values = summarise_columns(points.points->view(), pool.size());
  TextColumns text_columns(layout, path);
  TableSummary table;
  table.rows = points.points->view().n;
  table.warnings = layout.warnings;
  warn_of_thousands(layout, plan, points, table.warnings);
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
  if (auto warning = text_columns.warning(/*fits=*/false)) table.warnings.push_back(std::move(*warning));
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
  const TextLayout layout = find_layout(file.text, path, form_of(options));
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
  result.ids = std::move(points.ids);
  if (plan.id >= 0) result.id_name = layout.columns.name(plan.id);
  result.source = source_columns(layout.columns, plan.columns);
  result.source.decimal = layout.decimal;
  result.warnings = layout.warnings;
  warn_of_thousands(layout, plan, points, result.warnings);
  result.first_line = layout.first_line;
  std::vector<std::string> labels;
  for (const int64_t column : plan.columns) {
    labels.push_back(layout.columns.label(column));
    if (!layout.columns.names.empty()) result.column_names.push_back(layout.columns.name(column));
  }
  if (auto warning = text_columns.warning(/*fits=*/true)) result.warnings.push_back(std::move(*warning));
  if (auto warning = lost_integers_warning(points.lost, labels, plan.type, "line")) {
    result.warnings.push_back(std::move(*warning));
  }
  return result;
}

// Returns for each column whether every cell of it is a category.
std::vector<bool> categorical_columns(const TextLayout& layout, const TextPlan& plan, const ReadOptions& options) {
  std::vector<bool> categorical(plan.columns.size());
  const bool like = options.like && options.like->source.rules.size() == plan.columns.size();
  for (size_t j = 0; j < plan.columns.size(); ++j) {
    categorical[j] =
        like ? options.like->source.rules[j].categorical : options.rules.one_hot && layout.has_text(plan.columns[j]);
  }
  return categorical;
}

// Returns true if columns of numbers turned out to hold text. All of their cells are categories then.
bool finds_categories(const TextPoints& points, std::vector<bool>& categorical) {
  bool found = false;
  for (size_t j = 0; j < categorical.size(); ++j) {
    if (categorical[j] || points.survey[j].text == 0) continue;
    categorical[j] = true;
    found |= points.survey[j].numbers > 0;
  }
  return found;
}

RawTable raw_table(const TextLayout& layout, const TextPlan& plan, TextPoints& points) {
  RawTable table;
  table.view = points.points->view();
  table.owner = points.points->owner();
  table.file_columns = layout.columns.count;
  table.decimal = layout.decimal;
  table.weights = std::move(points.weights);
  table.ids = std::move(points.ids);
  if (plan.id >= 0) table.id_name = layout.columns.name(plan.id);
  table.warnings = layout.warnings;
  warn_of_thousands(layout, plan, points, table.warnings);
  table.first_line = layout.first_line;
  table.lost = std::move(points.lost);
  for (size_t j = 0; j < plan.columns.size(); ++j) {
    const ColumnSurvey& survey = points.survey[j];
    RawColumn& column = table.columns.emplace_back();
    column.number = plan.columns[j] + 1;
    column.name = layout.columns.name(plan.columns[j]);
    column.example = survey.example;
    column.example_row = survey.example_line - layout.first_line + 1;
    column.categorical = survey.text > 0 || plan.categorical[j];
    column.categories = (*plan.categories)[j].texts();
    column.wide = points.wide_columns[j];
    column.numbers = survey.numbers;
    column.texts = survey.text;
  }
  return table;
}

RawTable read_raw_text(const std::string& path, const ReadOptions& options) {
  const TextFile file(path, options.memory);
  const TextLayout layout = find_layout(file.text, path, form_of(options));
  TextPlan plan = survey_plan(layout, options, path);
  ThreadPool pool(threads_for(layout, options.threads));
  plan.categorical = categorical_columns(layout, plan, options);
  std::vector<CategoryTable> categories;
  plan.categories = &categories;
  TextPoints points;
  do {
    points = {};
    categories.clear();
    for (size_t j = 0; j < plan.columns.size(); ++j) categories.emplace_back(categories_to_remember(options));
    points = parse_text(layout, plan, path, pool);
  } while (options.rules.one_hot && finds_categories(points, plan.categorical));
  return raw_table(layout, plan, points);
}

}  // namespace

Reader make_text_reader() {
  return {
      "text: comma, tab, semicolon or blanks between numbers, with or without a header (.csv, .tsv, .txt, and as .gz, "
      ".zst, .xz, .bz2)",
      {".csv", ".tsv", ".txt", ".gz", ".zst", ".xz", ".bz2"},
      read_text,
      /*has_members=*/false,
      survey_text,
      read_raw_text,
      /*names_rows=*/true};
}

}  // namespace manymeans
