// manymeans describe: what a file of points holds, column by column.
#include <manymeans/manymeans.h>

#include "commands.h"
#include "output_files.h"
#include "read_flags.h"
#include "standard_streams.h"
#include "text_table.h"

#include <fmt/format.h>
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
    "  manymeans describe table.csv.gz --numeric-only --json\n\n"
    "missing counts NaN, which a fit refuses, as it does infinity. Mean and deviation\n"
    "(divided by the number of values, as --scale standard has it) are those of the\n"
    "finite values. A constant column tells no two points apart. Text is read as\n"
    "float32 unless --dtype says float64.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 out of memory, 1 a bug.";

std::string name_of_column(const Dataset& points, size_t column) {
  return points.column_names.empty() ? "" : points.column_names[column];
}

std::string note(const ColumnSummary& column) {
  std::string text = column.constant ? "constant" : "";
  if (column.infinite > 0) text += fmt::format("{}{} infinite", text.empty() ? "" : ", ", column.infinite);
  return text;
}

std::string to_text(const DescribeCommand& command, const Dataset& points, const std::vector<ColumnSummary>& columns) {
  std::vector<std::vector<std::string>> rows = {
      {"column", "name", "min", "max", "mean", "deviation", "missing", "note"}};
  const auto number = [](double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); };
  for (size_t j = 0; j < columns.size(); ++j) {
    const ColumnSummary& column = columns[j];
    rows.push_back({std::to_string(j + 1), name_of_column(points, j), number(column.min), number(column.max),
                    number(column.mean), number(column.deviation), std::to_string(column.missing), note(column)});
  }
  const auto are_empty = [&](size_t cell) {
    return std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[cell].empty(); });
  };
  std::string alignment = "rlrrrrrl";
  for (const size_t cell : {size_t{7}, size_t{1}}) {  // names and notes only where there are any
    if (!are_empty(cell)) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(cell));
    alignment.erase(cell, 1);
  }
  return fmt::format("{}: {} rows of {} columns, {}\n", command.data, points.view.n, points.view.d,
                     name_of(points.view.type)) +
         format_table(alignment, rows);
}

// JSON has no infinity and no NaN.
Json to_json(double value) {
  if (std::isnan(value)) return nullptr;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string to_json(const DescribeCommand& command, const Dataset& points, const std::vector<ColumnSummary>& columns) {
  Json list = Json::array();
  for (size_t j = 0; j < columns.size(); ++j) {
    const ColumnSummary& column = columns[j];
    list.push_back({{"column", j + 1},
                    {"name", name_of_column(points, j)},
                    {"min", to_json(column.min)},
                    {"max", to_json(column.max)},
                    {"mean", to_json(column.mean)},
                    {"deviation", to_json(column.deviation)},
                    {"missing", column.missing},
                    {"infinite", column.infinite},
                    {"constant", column.constant}});
  }
  const Json json = {{"path", command.data},        {"n_rows", points.view.n},
                     {"n_columns", points.view.d},  {"dtype", std::string(name_of(points.view.type))},
                     {"warnings", points.warnings}, {"columns", std::move(list)}};
  // Paths and names need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void run(const DescribeCommand& command) {
  check_files({.outputs = {}, .inputs = {command.data}, .prints = true});
  const Dataset points = read_points(command.data, command.reading);
  const std::vector<ColumnSummary> columns = summarise_columns(points.view, command.reading.threads);
  for (const std::string& warning : points.warnings) warn(warning);
  if (command.json) {
    print_json(to_json(command, points, columns));
  } else {
    print(to_text(command, points, columns));
  }
}

}  // namespace

void add_describe_command(CLI::App& program, int& exit_code) {
  CLI::App* app = program.add_subcommand("describe", "Say what a file of points holds, column by column.");
  const auto command = std::make_shared<DescribeCommand>();
  add_file_argument(*app, "DATA", command->data, kDataHelp);
  bind_read_flags(*app, command->reading);
  bind_threads(*app, command->reading.threads);
  app->add_flag("--json", command->json, "Print one JSON object instead of a table.")->group("Output");
  app->footer(kExamples);
  app->callback([command, &exit_code] {
    run(*command);
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
