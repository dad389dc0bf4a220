// manymeans describe: what a file of points holds, column by column, or what a model file says.
#include <manymeans/manymeans.h>
#include <manymeans/sparse_file.h>

#include "commands/commands.h"
#include "flags/flag_values.h"
#include "flags/read_flags.h"
#include "output/fit_to_try.h"
#include "output/model_description.h"
#include "output/output_files.h"
#include "output/sparse_description.h"
#include "output/text_table.h"
#include "streams/standard_streams.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>

namespace manymeans::cli {
namespace {
using Json = nlohmann::ordered_json;

struct DescribeCommand {
  std::string data;
  ReadOptions reading;
  bool json = false;
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans describe points.csv\n"
    "  manymeans describe arrays.npz:train --columns 1-10\n"
    "  manymeans describe table.csv.gz --numeric-only --json\n"
    "  manymeans describe counts.npz\n"
    "      A sparse matrix that scipy.sparse.save_npz has written: how much is there.\n"
    "  manymeans describe lines.npz\n"
    "      The equations of linear models that 'manymeans regress' has fitted.\n\n"
    "Any table will do: fields of text and empty fields, which a fit refuses, are\n"
    "counted. 'distinct' counts different values as the file has them (up to\n"
    "524288 divided by the number of columns, at least 10000). Mean and deviation\n"
    "(divided by the number of values, as --scale standard has it) are those of the\n"
    "finite numbers. The note says 'float64' if different numbers of the column would\n"
    "become equal in float32: then a fit reads all columns as float64. A constant\n"
    "column separates no points; NaN and infinity are numbers, which a fit\n"
    "refuses. Of dates the earliest and the latest are shown (3/4/24 is in March).\n"
    "The last line is a fit to try. It leaves out ids, dates, columns that are\n"
    "constant, infinite or half empty, and those of more than 20 texts. --log is for\n"
    "columns of a long tail: 0 or more, with a deviation above the mean, also without\n"
    "the max. 'manymeans choose' takes the same flags, and finds k.\n"
    "Of a model file the best model of each k is described; linear models as\n"
    "equations, with the names and in the units of the columns whatever --scale was.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 out of memory, 1 a bug.";

// The other texts may be words for gaps and the like.
bool is_of_dates(const TableColumn& column) {
  return column.dates > 0 && 2 * column.dates >= column.text && column.numbers == 0;
}

std::string note(const TableColumn& column) {
  std::vector<std::string> notes;
  if (column.values.constant) notes.emplace_back("constant");
  if (column.id) notes.emplace_back("id");
  if (column.wide) notes.emplace_back("float64");
  if (column.values.missing > 0) notes.push_back(fmt::format("{} nan", column.values.missing));
  if (column.values.infinite > 0) notes.push_back(fmt::format("{} infinite", column.values.infinite));
  if (is_of_dates(column)) {
    const int64_t others = column.text - column.dates;
    const std::string words = others == 0 ? "" : fmt::format(", {} of other text", others);
    notes.push_back("dates, which no fit takes: --exclude, or make numbers of them" + words);
  } else if (column.text > 0) {
    notes.push_back(fmt::format("text such as '{}'", column.example));
  }
  return fmt::format("{}", fmt::join(notes, ", "));
}

std::vector<std::string> row_of(const TableColumn& column, bool exact) {
  // With all digits where fewer would make different values look alike.
  const auto number = [&](double value) {
    if (std::isnan(value)) return std::string("-");
    return exact ? fmt::format("{}", value) : fmt::format("{:.6g}", value);
  };
  const ColumnSummary& values = column.values;
  const auto rough = [](double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); };
  return {std::to_string(column.number),
          column.name,
          std::to_string(column.numbers),
          std::to_string(column.empty),
          std::to_string(column.text),
          fmt::format("{}{}", column.more_distinct ? ">" : "", column.distinct),
          is_of_dates(column) ? column.first_date : number(values.min),
          is_of_dates(column) ? column.last_date : number(values.max),
          exact ? number(values.mean) : rough(values.mean),
          rough(values.deviation),
          note(column)};
}

std::string to_text(const DescribeCommand& command, const TableSummary& table) {
  std::vector<std::vector<std::string>> rows = {
      {"column", "name", "numbers", "empty", "text", "distinct", "min", "max", "mean", "deviation", "note"}};
  for (const TableColumn& column : table.columns) rows.push_back(row_of(column, column.wide));
  const auto are_empty = [&](size_t cell) {
    return std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[cell].empty(); });
  };
  std::string alignment = "rlrrrrrrrrl";
  for (const size_t cell : {size_t{10}, size_t{1}}) {  // names and notes only where there are any
    if (!are_empty(cell)) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(cell));
    alignment.erase(cell, 1);
  }
  const std::string fit = fit_to_try(command.data, command.reading, table);
  return fmt::format("{}: {} rows of {} columns, {}\n", command.data, table.rows, table.columns.size(),
                     name_of(table.type)) +
         format_table(alignment, rows) + (fit.empty() ? "" : "try: " + fit + "\n");
}

// JSON has no infinity and no NaN.
Json to_json(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json to_json(const TableColumn& column) {
  const ColumnSummary& values = column.values;
  return {{"column", column.number},
          {"name", column.name},
          {"numbers", column.numbers},
          {"empty", column.empty},
          {"text", column.text},
          {"gap_words", column.gap_words},
          {"example", column.example},
          {"dates", column.dates},
          {"first_date", column.first_date},
          {"last_date", column.last_date},
          {"distinct", column.distinct},
          {"more_distinct", column.more_distinct},
          {"id", column.id},
          {"needs_float64", column.wide},
          {"min", to_json(values.min)},
          {"max", to_json(values.max)},
          {"mean", to_json(values.mean)},
          {"deviation", to_json(values.deviation)},
          {"missing", values.missing + column.empty},
          {"infinite", values.infinite},
          {"constant", values.constant}};
}

std::string to_json(const DescribeCommand& command, const TableSummary& table) {
  Json list = Json::array();
  for (const TableColumn& column : table.columns) list.push_back(to_json(column));
  return text_of({{"path", command.data},
                  {"n_rows", table.rows},
                  {"n_columns", table.columns.size()},
                  {"dtype", std::string(name_of(table.type))},
                  {"warnings", table.warnings},
                  {"fit", fit_to_try(command.data, command.reading, table)},
                  {"columns", std::move(list)}});
}

void run(const DescribeCommand& command) {
  check_files({.outputs = {}, .inputs = {command.data}, .prints = true});
  if (is_model_file(command.data)) {
    const ModelFile file = load_model(command.data);
    if (command.json) {
      print_json(text_of(model_description_json(command.data, file)));
    } else {
      print(model_description(command.data, file));
    }
    return;
  }
  if (is_sparse_file(command.data, command.reading)) {
    const Dataset points = read_sparse_points(command.data, command.reading);
    if (command.json) {
      print_json(sparse_description_json(command.data, points));
    } else {
      print(sparse_description(command.data, points));
    }
    return;
  }
  const TableSummary table = describe_table(command.data, command.reading);
  for (const std::string& warning : table.warnings) warn(warning);
  if (command.json) {
    print_json(to_json(command, table));
  } else {
    print(to_text(command, table));
  }
}

}  // namespace

void add_describe_command(Program& program, int& exit_code) {
  const Command app = program.add_command("describe", "Say what a file of points, or of models, holds.");
  const auto command = std::make_shared<DescribeCommand>();
  add_file_argument(app, "DATA", command->data, kDataHelp);
  bind_read_flags(app, command->reading);
  bind_threads(app, command->reading.threads);
  app.add_flag("--json", command->json, "Print one JSON object instead of a table.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] {
    run(*command);
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
