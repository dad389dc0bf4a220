#include "flags/help_format.h"

#include <manymeans/error.h>

#include "flags/flag_values.h"
#include "flags/suggestions.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace manymeans::cli {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kColumn = 26;  // where descriptions begin

// `left`, then `text` wrapped into the right column.
std::string entry(const std::string& left, std::string_view text) {
  std::string out = "  " + left;
  if (left.size() + 4 > kColumn) out += "\n";
  size_t at = left.size() + 4 > kColumn ? 0 : out.size();
  const auto indent = [&] {
    out.append(kColumn - at, ' ');
    at = kColumn;
  };
  indent();
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (at > kColumn && at + 1 + word.size() > kWidth) {
      out += "\n";
      at = 0;
      indent();
    } else if (at > kColumn) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out + "\n";
}

std::string option_entry(const CLI::Option& option) {
  std::string left = option.get_name(option.get_positional(), true);
  if (!option.get_positional()) {
    if (const size_t comma = left.find(','); comma != std::string::npos) left.insert(comma + 1, " ");
    if (!option.get_type_name().empty()) left += " " + option.get_type_name();
  }
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += fmt::format(" [default: {}]", option.get_default_str());
  return entry(left, text);
}

std::string section(const std::string& title, const std::vector<const CLI::Option*>& options) {
  if (options.empty()) return {};
  std::string out = "\n" + title + ":\n";
  for (const CLI::Option* option : options) out += option_entry(*option);
  return out;
}

std::string usage(const CLI::App& app, const std::vector<const CLI::Option*>& positionals, bool has_commands) {
  std::string out = "\nUsage: manymeans";
  if (app.get_parent() != nullptr) out += " " + app.get_name();
  for (const CLI::Option* option : positionals) out += " " + option->get_name(true);
  return out + (has_commands ? " COMMAND [options]\n" : " [options]\n");
}

bool is_about_extras(const CLI::ParseError& stop) {
  return dynamic_cast<const CLI::ExtrasError*>(&stop) != nullptr;
}

// CLI11 joins several words from the last to the first.
std::string wrong_in(const CLI::App& command, const CLI::ParseError& stop) {
  const std::vector<std::string> words = command.remaining();
  if (!is_about_extras(stop) || words.size() < 2) return stop.what();
  return fmt::format("The following arguments were not expected: {}", fmt::join(words, " "));
}

std::string suggestion_for(const CLI::App& command, const CLI::ParseError& stop) {
  if (!is_about_extras(stop)) return {};
  for (const std::string& word : command.remaining()) {
    if (word.starts_with("-")) return flag_suggestion(command, word);
  }
  return files_suggestion(command, command.remaining());
}

// What was wrong, perhaps with a question, and who helps.
std::string with_help(const std::string& wrong, const std::string& command) {
  return fmt::format("{}{} '{}'", wrong, wrong.ends_with("?") ? " See" : "; see", command);
}

}  // namespace

std::string HelpFormat::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  const auto positionals = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
  std::string out = app->get_description() + "\n" + usage(*app, positionals, !commands.empty());
  if (!commands.empty()) out += "\nCommands:\n";
  for (const CLI::App* command : commands) out += entry(command->get_name(), command->get_description());
  out += section("Arguments", positionals);
  for (const std::string& group : app->get_groups()) {
    out += section(group, app->get_options([&](const CLI::Option* option) {
      return option->get_group() == group && !option->get_positional();
    }));
  }
  return out + "\n" + app->get_footer() + "\n";
}

int answer_parse_stop(const CLI::App& program, const CLI::ParseError& stop, const char* first_argument) {
  if (stop.get_exit_code() == 0) {
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&stop) != nullptr;
    print(version ? std::string(stop.what()) + "\n" : program.help());
    return 0;
  }
  if (first_argument == nullptr) {
    print_error_stream(program.help());
    return static_cast<int>(ErrorCode::kUsage);
  }
  const auto chosen = program.get_subcommands();
  if (chosen.empty()) {
    throw Error(ErrorCode::kUsage, "command line",
                with_help(fmt::format("'{}' is not a command", shown(first_argument)) +
                              command_suggestion(program, first_argument),
                          "manymeans --help"));
  }
  throw Error(ErrorCode::kUsage, "command line",
              with_help(wrong_in(*chosen.back(), stop) + suggestion_for(*chosen.back(), stop),
                        fmt::format("manymeans {} --help", chosen.back()->get_name())));
}

}  // namespace manymeans::cli
