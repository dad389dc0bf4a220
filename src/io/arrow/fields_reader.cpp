// Parquet, Arrow and Feather files: every field of numbers is a column, every field of lists of them several.
#include "io/arrow/fields_reader.h"

#include <manymeans/error.h>

#include "core/threads.h"
#include "io/files/mapped_file.h"
#include "io/table/category_table.h"
#include "io/table/column_selection.h"
#include "io/table/float32_check.h"
#include "io/table/preparation.h"
#include "io/table/reader.h"
#include "io/table/row_store.h"
#include "io/table/short_list.h"
#include "io/table/table_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

// A field that is read.
struct Part {
  int field = 0;
  int64_t width = 1;  // columns that it gives
  size_t first = 0;   // the first of them; of the weight: their number
  bool is_weight = false;
  bool is_list = false;
};

// The first problem of the file, whichever thread finds it.
struct FirstProblem {
  int64_t row = std::numeric_limits<int64_t>::max();  // from 0
  std::string what;
};

class FieldsReader {
 public:
  FieldsReader(FieldSource& source, const std::string& path, const ReadOptions& options);
  Dataset read();
  TableSummary survey();
  RawTable read_raw();

 private:
  struct Worker {
    std::unique_ptr<FieldSource::Pieces> pieces;
    std::vector<double> values;
    LostIntegers lost{0};
    Float32Check float32{0};
  };
  struct Survey;
  void survey_field(const Part& part, const FieldCells& cells, int64_t at, int64_t row, Survey& survey);
  void survey_batch(const FieldRows& batch, const std::vector<Part>& parts, int64_t row, Survey& survey);
  std::vector<Part> survey_parts(bool with_text);
  void survey_rows(const std::vector<Part>& parts, const std::vector<int64_t>& rows, Survey& survey);
  void add_raw_column(const Part& part, const Survey& survey, RawTable& table);
  TableSummary summarise(const Survey& survey, const std::vector<Part>& parts);
  std::vector<int64_t> choose_fields();
  void add_part(int64_t field, bool is_weight);
  int64_t list_length(int64_t field, bool needed = true);
  void find_type();
  std::string label(size_t column) const;
  std::vector<std::string> names() const;
  std::vector<Worker> read_rows(ThreadPool& pool);
  bool needs_float64(const std::vector<Worker>& workers) const;
  void read_piece(size_t piece, Worker& worker);
  bool read_batch(const FieldRows& batch, int64_t row, Worker& worker);
  [[noreturn]] void fail_promise(size_t piece, const char* found) const;
  bool read_block(const FieldRows& batch, int64_t first, int64_t count, int64_t row, Worker& worker);
  bool store(int64_t count, int64_t row, const Worker& worker);
  void report(int64_t row, std::string what);
  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorCode::kBadData, path_, what); }
  const FieldInfo& info(int64_t field) const { return source_.fields()[static_cast<size_t>(field)]; }

  FieldSource& source_;
  const std::string& path_;
  const ReadOptions& options_;
  FileColumns columns_;
  std::vector<Part> parts_;          // columns in the order of the points, the weight last
  std::vector<int> fields_;          // of the parts, rising: the columns of the tables that the source gives
  size_t width_ = 0;                 // columns of the points
  std::vector<int64_t> first_rows_;  // of the pieces, and the number of rows
  int64_t begin_ = 0, end_ = 0;      // the rows that become points
  std::unique_ptr<RowStore> store_;
  Dataset result_;
  DataType type_ = DataType::kFloat32;
  bool check_float32_ = false;  // float32, unless the values turn out to need float64
  std::atomic<bool> wide_{false};
  std::mutex mutex_;
  FirstProblem problem_;
  std::atomic<int64_t> bad_row_{std::numeric_limits<int64_t>::max()};  // the row of problem_, read without the lock
};

FieldsReader::FieldsReader(FieldSource& source, const std::string& path, const ReadOptions& options)
    : source_(source), path_(path), options_(options) {
  columns_.count = std::ssize(source.fields());
  for (const FieldInfo& field : source.fields()) columns_.names.push_back(field.name);
  give_names(columns_, options.names, path);
}

// The fields that become columns; what holds no numbers is left out or refused.
std::vector<int64_t> FieldsReader::choose_fields() {
  std::vector<int64_t> wanted = wanted_columns(columns_, options_, path_);
  if (const auto weights = find_column(columns_, options_.weights)) {
    if (info(*weights).kind != FieldKind::kNumber) {
      fail(fmt::format("{} holds {}; a weight is one number", columns_.label(*weights), info(*weights).type));
    }
    std::erase(wanted, *weights);
    add_part(*weights, true);
    if (wanted.empty()) fail("no column is left except the weights; choose at least one");
  }
  ShortList left_out;
  std::erase_if(wanted, [&](int64_t field) {
    if (info(field).kind != FieldKind::kOther) return false;
    const std::string text = fmt::format("{} ({})", columns_.label(field), info(field).type);
    if (!options_.numeric_only) {
      fail(text + " holds no numbers; choose columns with --columns, or leave out all such with --numeric-only");
    }
    left_out.add(text);
    return true;
  });
  if (wanted.empty()) fail("no column is left: none of them holds numbers; points need numbers");
  if (!left_out.empty()) result_.warnings.push_back("columns that hold no numbers were left out: " + left_out.text());
  result_.source = source_columns(columns_, wanted);
  return wanted;
}

// The length of the list in the first row. All others must have it. 1 where it is missing and not needed.
int64_t FieldsReader::list_length(int64_t field, bool needed) {
  const std::vector<int> fields{static_cast<int>(field)};
  const std::vector<int64_t> rows = source_.piece_rows(fields);
  const auto piece = std::find_if(rows.begin(), rows.end(), [](int64_t count) { return count > 0; });
  if (piece == rows.end()) return 1;
  const auto pieces = source_.open(fields);
  pieces->start(piece - rows.begin());
  while (const auto batch = pieces->next()) {
    if (batch->rows == 0) continue;
    const auto length = batch->fields[0]->first_length();
    if (length && *length < 0)
      fail(columns_.label(field) + ": the first list lies outside of its values; it is damaged");
    if (length || !needed) return length.value_or(1);
    fail(fmt::format("row 1, {}: the list is missing (null); its length is needed", columns_.label(field)));
  }
  return 1;
}

void FieldsReader::add_part(int64_t field, bool is_weight) {
  const FieldKind kind = info(field).kind;
  Part part{static_cast<int>(field), 1, width_, is_weight, kind != FieldKind::kNumber};
  if (kind == FieldKind::kFixedList) part.width = info(field).fixed_length;
  if (kind == FieldKind::kList) part.width = list_length(field);
  if (part.width < 1) fail(columns_.label(field) + " holds empty lists; points need numbers");
  if (!is_weight) width_ += static_cast<size_t>(part.width);
  parts_.push_back(part);
  fields_.push_back(part.field);
}

// As stored, where all columns have one type that the engine reads; float64 where one of several has it; else the
// values decide whether float32 holds them.
void FieldsReader::find_type() {
  std::optional<DataType> common;
  bool same = true, wide = false, direct = true;
  for (const Part& part : parts_) {
    if (part.is_weight) continue;
    const std::optional<DataType>& stored = info(part.field).stored;
    direct &= stored.has_value();
    const DataType type = stored.value_or(DataType::kFloat32);
    wide |= type == DataType::kFloat64;
    same &= common.value_or(type) == type;
    common = type;
  }
  const std::optional<DataType> wanted = wanted_type(options_, same && direct ? common : std::nullopt);
  type_ = wanted.value_or(same ? *common : (wide ? DataType::kFloat64 : DataType::kFloat32));
  check_float32_ = !wanted && !direct && type_ == DataType::kFloat32;
  result_.type_from_values = check_float32_;
}

// The name of a column in errors and warnings.
std::string FieldsReader::label(size_t column) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& candidate) {
    return column < candidate.first + static_cast<size_t>(candidate.width);
  });
  const std::string field = columns_.label(part->field);
  return part->is_list ? fmt::format("{}, value {}", field, column - part->first + 1) : field;
}

std::vector<std::string> FieldsReader::names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    const std::string name = columns_.name(part.field);
    for (int64_t i = 0; i < part.width && !part.is_weight; ++i) {
      names.push_back(part.is_list ? fmt::format("{}[{}]", name, i + 1) : name);
    }
  }
  return names;
}

void FieldsReader::report(int64_t row, std::string what) {
  const std::lock_guard lock(mutex_);
  if (row >= problem_.row) return;
  problem_ = {row, std::move(what)};
  bad_row_.store(row);
}

// Rows whose values are together; false after one that the type cannot hold.
bool FieldsReader::store(int64_t count, int64_t row, const Worker& worker) {
  const size_t stride = parts_.back().is_weight ? width_ + 1 : width_;
  for (int64_t i = 0; i < count; ++i) {
    if (row + i < begin_ || row + i >= end_) continue;
    const double* values = worker.values.data() + static_cast<size_t>(i) * stride;
    if (stride > width_) result_.weights[static_cast<size_t>(row + i - begin_)] = values[width_];
    const int64_t bad = store_->store(row + i - begin_, values);
    if (bad < 0 || check_float32_) continue;  // what is too large for float32 makes its column float64
    const bool overflow = type_ == DataType::kFloat32;
    report(row + i, fmt::format("{}: {} {}", label(static_cast<size_t>(bad)), values[bad],
                                overflow ? "is too large for float32; use dtype float64"
                                         : fmt::format("is not exact in {}; use a wider dtype", name_of(type_))));
    return false;
  }
  return true;
}

// Rows [first, first + count) of a batch, which begin with `row` of the points. False after a problem.
bool FieldsReader::read_block(const FieldRows& batch, int64_t first, int64_t count, int64_t row, Worker& worker) {
  const size_t stride = parts_.back().is_weight ? width_ + 1 : width_;
  worker.values.resize(static_cast<size_t>(count) * stride);
  std::optional<FieldProblem> problem;
  const Part* where = nullptr;
  for (const Part& part : parts_) {
    FieldTarget target{worker.values.data() + part.first,
                       static_cast<int64_t>(stride),
                       part.width,
                       type_,
                       part.is_weight ? nullptr : &worker.lost,
                       part.is_weight || !check_float32_ ? nullptr : &worker.float32,
                       part.first,
                       row + 1};
    const auto at = std::lower_bound(fields_.begin(), fields_.end(), part.field) - fields_.begin();
    auto found = batch.fields[static_cast<size_t>(at)]->copy(first, count, target);
    if (!found || (problem && problem->row <= found->row)) continue;
    problem = std::move(found);
    where = &part;
  }
  if (!store(problem ? problem->row : count, row, worker)) return false;
  if (problem) report(row + problem->row, columns_.label(where->field) + problem->what);
  return !problem;
}

void FieldsReader::read_piece(size_t piece, Worker& worker) {
  int64_t row = first_rows_[piece];
  if (row > bad_row_.load() || wide_) return;  // what lies behind the first problem does not matter
  const bool wanted = first_rows_[piece + 1] > begin_ && row < end_;
  if (!wanted && !check_float32_) return;  // all rows say which type they need
  if (!worker.pieces) worker.pieces = source_.open(fields_);
  worker.pieces->start(static_cast<int64_t>(piece));
  const int64_t end = first_rows_[piece + 1];
  while (const auto batch = worker.pieces->next()) {
    if (batch->rows > end - row) fail_promise(piece, "more");
    if (!read_batch(*batch, row, worker)) return;
    row += batch->rows;
  }
  if (row < end) fail_promise(piece, "fewer");
}

void FieldsReader::fail_promise(size_t piece, const char* found) const {
  fail(fmt::format("part {} of the file holds {} rows than the {} of its directory; the file is damaged", piece + 1,
                   found, first_rows_[piece + 1] - first_rows_[piece]));
}

// False where no more rows of this piece are wanted.
bool FieldsReader::read_batch(const FieldRows& batch, int64_t row, Worker& worker) {
  if (batch.rows == 0) return true;
  // Only now: a damaged file may promise lists of any length, and none that was read is that long.
  if (worker.lost.columns.empty()) {
    worker.lost = LostIntegers(width_);
    worker.float32 = Float32Check(width_);
  }
  const int64_t block = std::max<int64_t>(1, 32768 / static_cast<int64_t>(width_));
  for (int64_t first = 0; first < batch.rows; first += block) {
    const int64_t count = std::min(block, batch.rows - first);
    if (!read_block(batch, first, count, row + first, worker)) return false;
    if (worker.float32.surely_wide()) wide_ = true;
    if (wide_) return false;
  }
  return true;
}

std::vector<FieldsReader::Worker> FieldsReader::read_rows(ThreadPool& pool) {
  store_ = std::make_unique<RowStore>(end_ - begin_, static_cast<int64_t>(width_), type_, path_, options_.memory);
  std::vector<Worker> workers(static_cast<size_t>(pool.size()));
  pool.for_each_range(static_cast<int64_t>(first_rows_.size()) - 1, 1, [&](int worker, int64_t piece, int64_t) {
    read_piece(static_cast<size_t>(piece), workers[static_cast<size_t>(worker)]);
  });
  return workers;
}

bool FieldsReader::needs_float64(const std::vector<Worker>& workers) const {
  if (!check_float32_) return false;
  Float32Check all(width_);
  for (const Worker& worker : workers) {
    if (!worker.lost.columns.empty()) all.merge(worker.float32);
  }
  return wide_ || all.surely_wide() || all.wide();
}

Dataset FieldsReader::read() {
  for (const int64_t field : choose_fields()) add_part(field, false);
  // A weight comes first here, and must follow the columns.
  if (parts_.front().is_weight) std::rotate(parts_.begin(), parts_.begin() + 1, parts_.end());
  if (parts_.back().is_weight) parts_.back().first = width_;
  std::sort(fields_.begin(), fields_.end());
  find_type();
  const std::vector<int64_t> rows = source_.piece_rows(fields_);
  first_rows_.assign(1, 0);
  for (const int64_t count : rows) {
    int64_t next = 0;
    if (count < 0 || __builtin_add_overflow(first_rows_.back(), count, &next)) fail("its directory is damaged");
    first_rows_.push_back(next);
  }
  const int64_t n = first_rows_.back();
  begin_ = options_.part.begin(n);
  end_ = options_.part.end(n);
  result_.file_rows = n;
  result_.view = {nullptr, n, static_cast<int64_t>(width_), type_};
  if (n == 0) return std::move(result_);  // the caller complains about no rows
  if (parts_.back().is_weight) result_.weights.resize(static_cast<size_t>(end_ - begin_));
  ThreadPool pool(thread_count(options_.threads));
  std::vector<Worker> workers = read_rows(pool);
  if (needs_float64(workers)) {
    type_ = DataType::kFloat64;
    check_float32_ = wide_ = false;
    problem_ = {};
    bad_row_ = problem_.row;
    store_.reset();
    workers = read_rows(pool);
  }
  if (problem_.row < n) fail(fmt::format("row {}, {}", problem_.row + 1, problem_.what));
  LostIntegers lost(width_);
  for (const Worker& worker : workers) {
    if (!worker.lost.columns.empty()) lost.merge(worker.lost);
  }
  std::vector<std::string> labels;
  for (size_t column = 0; column < width_; ++column) labels.push_back(label(column));
  if (auto warning = lost_integers_warning(lost, labels, type_, "row")) {
    result_.warnings.push_back(std::move(*warning));
  }
  result_.column_names = names();
  result_.view = store_->view();
  result_.owner = store_->owner();
  return std::move(result_);
}

// The findings about all columns, of numbers and of others: the values of others are NaN.
struct FieldsReader::Survey {
  Survey(int64_t n, size_t d, const std::string& path, int64_t memory)
      : values(n, static_cast<int64_t>(d), DataType::kFloat64, path, memory), columns(d), float32(d), row(d) {
    const size_t limit = DistinctCounter::limit_for(static_cast<int64_t>(d));
    for (ColumnSurvey& column : columns) column.distinct = DistinctCounter(limit);
  }
  RowStore values;
  std::vector<ColumnSurvey> columns;
  Float32Check float32;
  std::vector<double> row;
  std::vector<CategoryTable> categories;  // of the columns, where text becomes codes; else none
  std::vector<TextCodes> codes;
};

// One cell, or the cells of one list.
void FieldsReader::survey_field(const Part& part, const FieldCells& cells, int64_t at, int64_t row, Survey& survey) {
  double* values = survey.row.data() + part.first;
  const auto width = static_cast<size_t>(part.width);
  const bool is_number = info(part.field).kind != FieldKind::kOther;
  std::fill_n(values, width, std::numeric_limits<double>::quiet_NaN());
  if (!is_number && !cells.is_null(at)) {
    const std::string text = cells.text(at);
    survey.columns[part.first].add_text(text, row + 1);
    if (survey.categories.empty()) return;
    *values = static_cast<double>(survey.categories[part.first].code_of(text, survey.codes[part.first]));
    return;
  }
  const FieldTarget target{values, part.width, part.width, DataType::kFloat64, nullptr, &survey.float32, part.first, 0};
  const bool there = is_number && !cells.copy(at, 1, target);
  for (size_t i = 0; i < width; ++i) {
    ColumnSurvey& column = survey.columns[part.first + i];
    if (!there) values[i] = std::numeric_limits<double>::quiet_NaN();
    ++(there ? column.numbers : column.empty);
    if (!std::isnan(values[i])) column.distinct.add_number(values[i], {});
  }
}

TableSummary FieldsReader::summarise(const Survey& survey, const std::vector<Part>& parts) {
  TableSummary table;
  table.rows = survey.values.view().n;
  table.warnings = result_.warnings;
  table.type = type_;
  const std::vector<ColumnSummary> values = summarise_columns(survey.values.view(), options_.threads);
  for (const Part& part : parts) {
    for (size_t j = part.first; j < part.first + static_cast<size_t>(part.width); ++j) {
      TableColumn column;
      column.number = part.field + 1;
      column.name = columns_.name(part.field);
      if (part.is_list) column.name += fmt::format("[{}]", j - part.first + 1);
      column.wide = survey.float32.wide(j);
      survey.columns[j].describe(column, values[j]);
      if (column.wide && check_float32_) table.type = DataType::kFloat64;
      table.columns.push_back(std::move(column));
    }
  }
  return table;
}

// A part for every field that is wanted, also where it holds no numbers.
std::vector<Part> FieldsReader::survey_parts(bool with_text) {
  std::vector<Part> parts;
  for (const int64_t field : wanted_columns(columns_, options_, path_)) {
    const FieldKind kind = info(field).kind;
    if (kind == FieldKind::kOther && !with_text) continue;
    Part part{static_cast<int>(field), 1, width_, false, kind == FieldKind::kFixedList || kind == FieldKind::kList};
    if (kind == FieldKind::kFixedList) part.width = std::max<int64_t>(1, info(field).fixed_length);
    if (kind == FieldKind::kList) part.width = std::max<int64_t>(1, list_length(field, false));
    width_ += static_cast<size_t>(part.width);
    parts.push_back(part);
    fields_.push_back(part.field);
    if (kind != FieldKind::kOther) parts_.push_back(part);
  }
  std::sort(fields_.begin(), fields_.end());
  return parts;
}

void FieldsReader::survey_batch(const FieldRows& batch, const std::vector<Part>& parts, int64_t row, Survey& survey) {
  for (int64_t i = 0; i < batch.rows; ++i) {
    for (const Part& part : parts) {
      const auto at = std::lower_bound(fields_.begin(), fields_.end(), part.field) - fields_.begin();
      survey_field(part, *batch.fields[static_cast<size_t>(at)], i, row + i, survey);
    }
    survey.values.store(row + i, survey.row.data());
  }
}

TableSummary FieldsReader::survey() {
  const std::vector<Part> parts = survey_parts(!options_.numeric_only);
  if (!parts_.empty()) find_type();
  const std::vector<int64_t> rows = source_.piece_rows(fields_);
  const int64_t n = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  if (n < 1 || width_ == 0) return {};
  Survey survey(n, width_, path_, options_.memory);
  survey_rows(parts, rows, survey);
  return summarise(survey, parts);
}

void FieldsReader::survey_rows(const std::vector<Part>& parts, const std::vector<int64_t>& rows, Survey& survey) {
  const int64_t n = survey.values.view().n;
  const auto pieces = source_.open(fields_);
  int64_t row = 0;
  for (size_t piece = 0; piece < rows.size(); ++piece) {
    pieces->start(static_cast<int64_t>(piece));
    while (const auto batch = pieces->next()) {
      if (batch->rows > n - row) fail("it holds more rows than its directory says; the file is damaged");
      survey_batch(*batch, parts, row, survey);
      row += batch->rows;
    }
  }
  if (row != n) fail("it holds fewer rows than its directory says; the file is damaged");
}

void FieldsReader::add_raw_column(const Part& part, const Survey& survey, RawTable& table) {
  const ColumnSurvey& found = survey.columns[part.first];
  RawColumn& column = table.columns.emplace_back();
  column.number = part.field + 1;
  column.name = columns_.name(part.field);
  column.example = found.example;
  column.example_row = std::max<int64_t>(0, found.example_line);
  column.categorical = info(part.field).kind == FieldKind::kOther;
  column.categories = survey.categories[part.first].texts();
  column.wide = info(part.field).stored == DataType::kFloat64 || survey.float32.wide(part.first);
}

RawTable FieldsReader::read_raw() {
  const std::vector<Part> parts = survey_parts(true);
  if (find_column(columns_, options_.weights)) {
    throw Error(ErrorCode::kUsage, "weights",
                fmt::format("'{}' is a column of {}, and beside rules for gaps and text it has to be a file",
                            options_.weights, path_));
  }
  const auto is_list = [](const Part& part) { return part.is_list; };
  if (std::ranges::any_of(parts, is_list)) {
    throw Error(ErrorCode::kUsage, "missing",
                path_ + " has columns of lists, in which gaps are not filled; --exclude leaves them out");
  }
  const std::vector<int64_t> rows = source_.piece_rows(fields_);
  const int64_t n = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  if (n < 1 || width_ == 0) fail("no rows or no columns were found; at least one of each is needed");
  Survey survey(n, width_, path_, options_.memory);
  survey.codes.resize(width_);
  for (size_t j = 0; j < width_; ++j) survey.categories.emplace_back(categories_to_remember(options_));
  survey_rows(parts, rows, survey);
  RawTable table;
  table.view = survey.values.view();
  table.owner = survey.values.owner();
  table.file_columns = columns_.count;
  for (const Part& part : parts) add_raw_column(part, survey, table);
  table.lost = LostIntegers(table.columns.size());
  return table;
}

// use(reader) for the table of the file.
template <class Use>
auto reading(const OpenFields& open, const std::string& path, const ReadOptions& options, Use&& use) {
  return reading_fields(path, [&] {
    const auto source = open(MappedFile::open(path, Access::kOnce, options.memory), path, options.threads);
    FieldsReader reader(*source, path, options);
    return use(reader);
  });
}

}  // namespace

Reader make_fields_reader(FieldsFormat format, const OpenFields& open, FindFormat find) {
  const bool parquet = format == FieldsFormat::kParquet;
  Reader reader;
  reader.description = parquet ? "Parquet: a field of numbers or of lists of them (.parquet)"
                               : "Arrow and Feather (version 2) files (.arrow, .feather)";
  reader.endings =
      parquet ? std::vector<std::string_view>{".parquet"} : std::vector<std::string_view>{".arrow", ".feather"};
  reader.read = [open](const std::string& path, const ReadOptions& options) {
    return reading(open, path, options, [](FieldsReader& table) { return table.read(); });
  };
  reader.survey = [open](const std::string& path, const ReadOptions& options) {
    return reading(open, path, options, [](FieldsReader& table) { return table.survey(); });
  };
  reader.has_fields = true;
  reader.find = std::move(find);
  reader.read_raw = [open](const std::string& path, const ReadOptions& options) {
    return reading(open, path, options, [](FieldsReader& table) { return table.read_raw(); });
  };
  return reader;
}

}  // namespace manymeans
