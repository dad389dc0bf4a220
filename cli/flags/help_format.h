// The look of --help: two columns, wrapped at 80 characters, the same with every version of CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace manymeans::cli {

class HelpFormat : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// Answers what stopped the parsing (a request for help or for the version, or a usage error) and returns the
/// exit code. `first_argument` of the program: null when there was none.
int answer_parse_stop(const CLI::App& program, const CLI::ParseError& stop, const char* first_argument);

}  // namespace manymeans::cli
