#include "flags/read_flags.h"

#include <manymeans/fit.h>

#include "flags/flag_values.h"

#include <cstdio>

namespace manymeans::cli {
namespace {

const std::vector<std::string> kTypes = {"float32", "float64", "float16", "bfloat16", "uint8", "int8"};

void set_format(const std::string& text, ReadOptions& options) {
  check_format("--format", text, build_info().readers);
  options.format = text;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (parts.back().empty()) {
      throw Error(ErrorCode::kUsage, "--columns",
                  fmt::format("has an empty entry, found '{}'; names, numbers from 1 or ranges such as 2-5 are right",
                              shown(text)));
    }
    begin = end + 1;
  }
  return parts;
}

}  // namespace

void check_format(const char* flag, const std::string& text, const std::vector<Choice>& formats) {
  std::vector<std::string> choices = {"auto"};
  for (const Choice& format : formats) choices.push_back(format.name);
  check_choice(flag, text, choices);
}

void bind_read_flags(CLI::App& app, ReadOptions& options, const std::string& left_out) {
  const auto add = [&](const char* flag, const char* value, const std::string& help, auto store) {
    const auto call = [store, &options](const CLI::results_t& texts) {
      store(texts.front(), options);
      return true;
    };
    return app.add_option(flag, call, help)->type_name(value)->group("Reading");
  };
  add("--format", "NAME", "Format of DATA: auto (by the ending of the name) or a reader that 'manymeans info' lists.",
      set_format)
      ->default_str("auto");
  add("--dtype", "NAME",
      "Convert the values to float32, float64, float16, bfloat16, uint8 or int8. Left out: " + left_out,
      [](const std::string& text, ReadOptions& to) {
        check_choice("--dtype", text, kTypes);
        to.dtype = data_type_from_name(text);
      });
  add("--columns", "LIST", "Columns to use: names, numbers from 1, or ranges of them, as in 1,4-9,age. Left out: all.",
      [](const std::string& text, ReadOptions& to) { to.columns = split_at_commas(text); });
  app.add_flag("--numeric-only", options.numeric_only, "Leave out columns that hold text, with a warning.")
      ->group("Reading");
}

Error about_file(const Error& error, const std::string& path, const Dataset& points, int64_t rows_before) {
  std::string what = error.what();
  constexpr std::string_view kPoints = "[points] ";
  if (!what.starts_with(kPoints)) return error;
  what.erase(0, kPoints.size());
  // A value's place begins the message: "row 3, column 2 is NaN".
  long long row = 0, column = 0;
  int end = 0;
  const bool placed = std::sscanf(what.c_str(), "row %lld, column %lld%n", &row, &column, &end) == 2;
  if (placed && column >= 1 && column <= points.view.d) {
    what.replace(0, static_cast<size_t>(end),
                 row_label(points, rows_before + row) + ", " + column_label(points, column));
  }
  return Error(error.code(), path, what);
}

void bind_threads(CLI::App& app, int& threads) {
  app.add_option("--threads", number_into("--threads", threads, 0),
                 "Threads; 0: all usable ones. Never changes the answer.")
      ->type_name("COUNT")
      ->default_str("0")
      ->group("Reading");
}

}  // namespace manymeans::cli
