#include "read_flags.h"

#include <manymeans/fit.h>

#include "flag_values.h"

namespace manymeans::cli {
namespace {

const std::vector<std::string> kTypes = {"float32", "float64", "float16", "bfloat16", "uint8", "int8"};

void set_format(const std::string& text, ReadOptions& options) {
  std::vector<std::string> choices = {"auto"};
  for (const Choice& reader : info().readers) choices.push_back(reader.name);
  check_choice("--format", text, choices);
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

void bind_read_flags(CLI::App& app, ReadOptions& options) {
  const auto add = [&](const char* flag, const char* value, const char* help, auto store) {
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
      "Convert the values to float32, float64, float16, bfloat16, uint8 or int8. Left out: as stored; text is read "
      "as float32.",
      [](const std::string& text, ReadOptions& to) {
        check_choice("--dtype", text, kTypes);
        to.dtype = data_type_from_name(text);
      });
  add("--columns", "LIST", "Columns to use: names, numbers from 1, or ranges of them, as in 1,4-9,age. Left out: all.",
      [](const std::string& text, ReadOptions& to) { to.columns = split_at_commas(text); });
  app.add_flag("--numeric-only", options.numeric_only, "Leave out columns that hold text, with a warning.")
      ->group("Reading");
}

void bind_threads(CLI::App& app, int& threads) {
  const auto store = [&threads](const CLI::results_t& texts) {
    threads = parse_number<int>("--threads", texts.front());
    if (threads < 0) throw Error(ErrorCode::kUsage, "--threads", fmt::format("must be at least 0, found {}", threads));
    return true;
  };
  app.add_option("--threads", store, "Threads; 0: all usable ones. Never changes the answer.")
      ->type_name("COUNT")
      ->default_str("0")
      ->group("Reading");
}

}  // namespace manymeans::cli
