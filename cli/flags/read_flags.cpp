#include "flags/read_flags.h"

#include <manymeans/fit.h>
#include <manymeans/info.h>

#include "flags/flag_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace manymeans::cli {
namespace {

void set_format(const std::string& text, ReadOptions& options) {
  check_format("--format", text, build_info().readers);
  options.format = text;
}

// Returns true if `text` is an ending of file names of this format, as csv is for text. The description tells them.
bool has_ending(const Choice& format, const std::string& text) {
  const std::string ending = text.starts_with('.') ? text : "." + text;
  const size_t at = format.description.find(ending);
  if (text.empty() || at == std::string::npos) return false;
  const std::string rest = format.description.substr(at + ending.size());
  return rest.empty() || std::string_view(",) :").find(rest[0]) != std::string_view::npos;
}

}  // namespace

std::vector<std::string> split_at_commas(const char* flag, const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (parts.back().empty()) {
      throw Error(ErrorCode::kUsage, flag,
                  fmt::format("has an empty entry, found '{}'; names, numbers from 1 or ranges such as 2-5 are right",
                              shown(text)));
    }
    begin = end + 1;
  }
  return parts;
}

void check_format(const char* flag, const std::string& text, const std::vector<Choice>& formats) {
  std::vector<std::string> choices = {"auto"};
  for (const Choice& format : formats) choices.push_back(format.name);
  if (std::ranges::find(choices, text) != choices.end()) return;
  for (const Choice& format : formats) {
    if (!has_ending(format, text)) continue;
    throw Error(ErrorCode::kUsage, flag,
                fmt::format("must be one of {}, found '{}'; did you mean '{}'?", fmt::join(choices, ", "), shown(text),
                            format.name));
  }
  check_choice(flag, text, choices);
}

void bind_type_flag(const Command& app, ReadOptions& options, const std::string& help) {
  const auto store = [&options](const std::string& text) {
    check_choice("--dtype", text);
    options.dtype = data_type_from_name(text);
  };
  app.add_option("--dtype", store, help).type_name("NAME").group("Reading");
}

void bind_header_flag(const Command& app, ReadOptions& options) {
  const auto store = [&options](const std::string& text) {
    check_choice("--header", text);
    options.header = text == "yes" ? Header::kYes : text == "no" ? Header::kNo : Header::kAuto;
  };
  app.add_option("--header", store,
                 "Whether the first line of a text table holds the names of its columns: yes, no or auto (found from "
                 "the first lines, with a warning if they do not tell).")
      .type_name("yes|no|auto")
      .default_str("auto")
      .group("Reading");
}

void bind_read_flags(const Command& app, ReadOptions& options, const std::string& left_out) {
  const auto add = [&](const char* flag, const char* value, const std::string& help, auto store) {
    const auto call = [store, &options](const std::string& text) { store(text, options); };
    return app.add_option(flag, call, help).type_name(value).group("Reading");
  };
  add("--format", "NAME", "Format of DATA: auto (by the ending of the name) or a reader that 'manymeans info' lists.",
      set_format)
      .default_str("auto");
  bind_type_flag(app, options,
                 "Convert the values to float32, float64, float16, bfloat16, uint8 or int8. Left out: " + left_out);
  add("--columns", "LIST", "Columns to use: names, numbers from 1, or ranges of them, as in 1,4-9,age. Left out: all.",
      [](const std::string& text, ReadOptions& to) { to.columns = split_at_commas("--columns", text); });
  add("--exclude", "LIST", "Columns to leave out, in the same form.",
      [](const std::string& text, ReadOptions& to) { to.exclude = split_at_commas("--exclude", text); });
  app.add_flag("--numeric-only", options.numeric_only, "Leave out columns that hold text, with a warning.")
      .group("Reading");
  bind_header_flag(app, options);
  add("--decimal", "CHARACTER",
      "Decimal sign of the numbers in text: '.', or ',' with points between thousands, as in 1.234,5.",
      [](const std::string& text, ReadOptions& to) {
        check_choice("--decimal", text);
        to.decimal = text[0];
      })
      .default_str(".");
}

namespace {

void set_missing(const std::string& text, TableRules& rules) {
  constexpr std::pair<std::string_view, Missing> kRules[] = {
      {"error", Missing::kError}, {"drop", Missing::kDrop}, {"mean", Missing::kMean}, {"median", Missing::kMedian}};
  for (const auto& [name, rule] : kRules) {
    if (text == name) {
      rules.missing = rule;
      return;
    }
  }
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, rules.missing_value);
  if (problem != std::errc() || stop != end || !std::isfinite(rules.missing_value)) {
    throw Error(ErrorCode::kUsage, "--missing",
                fmt::format("is '{}'; must be error, drop, mean, median or a number", shown(text)));
  }
  rules.missing = Missing::kValue;
}

void set_categories(const std::string& text, ReadOptions& options) {
  check_choice("--categories", text);
  options.rules.one_hot = text == "onehot";
  if (text == "drop") options.numeric_only = true;
}

}  // namespace

void bind_table_flags(const Command& app, ReadOptions& options) {
  const auto add = [&](const char* flag, const char* value, const std::string& help, auto store) {
    const auto call = [store](const std::string& text) { store(text); };
    return app.add_option(flag, call, help).type_name(value).group("Reading");
  };
  add("--missing", "RULE",
      "Gaps, which are empty fields, NA, N/A, NaN, null and None: error, drop (the rows; their labels are empty), or "
      "fill with the mean or median of the column, or with a number.",
      [&options](const std::string& text) { set_missing(text, options.rules); })
      .default_str("error");
  add("--categories", "RULE",
      "Columns of text: error, drop (as --numeric-only), or onehot (a column of 0 and 1 for each category).",
      [&options](const std::string& text) { set_categories(text, options); })
      .default_str("error");
  app.add_option("--most-categories", number_into("--most-categories", options.rules.max_categories, 1),
                 "Max number of categories per column with onehot; more are an error.")
      .type_name("COUNT")
      .default_str("100")
      .group("Reading");
}

void bind_profile_flag(const Command& app, std::vector<std::string>& columns) {
  const auto store = [&columns](const std::string& text) { columns = split_at_commas("--profile", text); };
  app.add_option(
         "--profile", store,
         "Columns to describe the clusters by, chosen as by --columns; they are no columns of the points. Cards "
         "show their means, or the shares of their texts, and how surprising these are.")
      .type_name("LIST")
      .group("Reading");
}

void bind_id_flag(const Command& app, ReadOptions& options, const std::string& outputs) {
  const auto store = [&options](const std::string& text) {
    options.id = text;
    if (options.id.empty()) throw Error(ErrorCode::kUsage, "--id", "is empty; the name or number of a column is right");
  };
  app.add_option("--id", store,
                 "Column that names the rows. It is not clustered, and comes first in each row of " + outputs + ".")
      .type_name("COLUMN")
      .group("Reading");
}

void check_id(const ReadOptions& options, const std::vector<const std::string*>& outputs, bool shared, bool describes) {
  if (options.id.empty()) return;
  if (shared) throw Error(ErrorCode::kUsage, "--id", "is for one process; several share the rows here");
  bool any = describes;
  for (const std::string* path : outputs) {
    any |= !path->empty();
    if (!path->ends_with(".npy")) continue;
    throw Error(ErrorCode::kUsage, "--id",
                fmt::format("precedes labels in a .csv or .parquet, not in '{}'; write one of them", *path));
  }
  if (!any)
    throw Error(ErrorCode::kUsage, "--id",
                "precedes labels: --labels FILE.csv (or .parquet) is needed, or --exclude in place of --id");
}

Error about_file(const Error& error, const std::string& path, const Dataset& points, int64_t rows_before) {
  std::string what = error.what();
  constexpr std::string_view kPoints = "[points] ";
  if (!what.starts_with(kPoints)) return error;
  what.erase(0, kPoints.size());
  // A place begins the message: "row 3, column 2 is NaN", "row 3 is all zeros", "column 2 has the minimum -1".
  long long row = 0, column = 0;
  int end = 0, end_of_row = 0;
  const int found = std::sscanf(what.c_str(), "row %lld%n, column %lld%n", &row, &end_of_row, &column, &end);
  const bool whole = found < 1 && std::sscanf(what.c_str(), "column %lld%n", &column, &end) == 1;
  const bool in_points = column >= 1 && column <= points.view.d;
  if (whole && in_points) {
    what.replace(0, static_cast<size_t>(end), column_label(points, column));
  } else if (found == 1) {
    what.replace(0, static_cast<size_t>(end_of_row), row_label(points, rows_before + row));
  } else if (found == 2 && in_points) {
    what.replace(0, static_cast<size_t>(end),
                 row_label(points, rows_before + row) + ", " + column_label(points, column));
  }
  return Error(error.code(), path, what);
}

void bind_threads(const Command& app, int& threads) {
  app.add_option("--threads", number_into("--threads", threads, 0),
                 "Threads; 0: all usable ones. Never changes the answer.")
      .type_name("COUNT")
      .default_str("0")
      .group("Reading");
}

}  // namespace manymeans::cli
