#include "flags/help_format.h"

#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/info.h>

#include "flags/flag_values.h"
#include "flags/suggestions.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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

std::string option_entry(const ListedOption& option) {
  std::string left = fmt::format("{}", fmt::join(option.flags, ", "));
  if (!option.value.empty() && option.value != left) left += " " + option.value;
  return entry(left, full_help(option));
}

std::string section(const std::string& title, const std::vector<ListedOption>& options) {
  if (options.empty()) return {};
  std::string out = "\n" + title + ":\n";
  for (const ListedOption& option : options) out += option_entry(option);
  return out;
}

std::string usage(const ListedCommand& command) {
  if (!command.commands.empty()) return "\nUsage: manymeans COMMAND [options]\n";
  std::string out = "\nUsage: manymeans " + command.name;
  for (const ListedOption& argument : command.arguments) out += " " + argument.value;
  return out + " [options]\n";
}

// A section for each group. The groups are in the order of their first options.
std::string sections(const std::vector<ListedOption>& options) {
  std::vector<std::string> titles;
  for (const ListedOption& option : options) {
    if (std::ranges::find(titles, option.group) == titles.end()) titles.push_back(option.group);
  }
  std::string out;
  for (const std::string& title : titles) {
    std::vector<ListedOption> members;
    std::ranges::copy_if(options, std::back_inserter(members), [&](const auto& one) { return one.group == title; });
    out += section(title, members);
  }
  return out;
}

std::string help_page(const ListedCommand& command) {
  std::string out = command.help + "\n" + usage(command);
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const ListedCommand& other : command.commands) out += entry(other.name, other.help);
  return out + section("Arguments", command.arguments) + sections(command.options) + "\n" + command.examples + "\n";
}

// CLI11 joins several words from the last to the first.
std::string wrong_in(const ParseStop& stop) {
  if (stop.extras.size() < 2) return stop.message;
  return fmt::format("The following arguments were not expected: {}", fmt::join(stop.extras, " "));
}

std::string suggestion_for(const ParseStop& stop) {
  for (const std::string& word : stop.extras) {
    if (word.starts_with("-")) return flag_suggestion(stop.command, word);
  }
  return files_suggestion(stop.command, stop.extras);
}

// Returns the error, perhaps with a suggestion, and the command that shows help.
std::string with_help(const std::string& wrong, const std::string& command) {
  return fmt::format("{}{} '{}'", wrong, wrong.ends_with("?") ? " See" : "; see", command);
}

}  // namespace

int answer_parse_stop(const ParseStop& stop, const char* first_argument) {
  const bool names_none = !stop.command.commands.empty();
  const bool mistaken = names_none && first_argument != nullptr && *first_argument != '-';  // fot --help
  if (stop.reason == ParseStop::Reason::kVersion && !mistaken) {
    print("manymeans " + build_info().version + "\n");
    return 0;
  }
  if (stop.reason == ParseStop::Reason::kHelp && !mistaken) {
    print(help_page(stop.command));
    return 0;
  }
  if (first_argument == nullptr) {
    print_error_stream(help_page(stop.command));
    return static_cast<int>(ErrorCode::kUsage);
  }
  if (names_none) {
    throw Error(ErrorCode::kUsage, "command line",
                with_help(fmt::format("'{}' is not a command", shown(first_argument)) +
                              command_suggestion(stop.command, first_argument),
                          "manymeans --help"));
  }
  throw Error(ErrorCode::kUsage, "command line",
              with_help(wrong_in(stop) + suggestion_for(stop), fmt::format("manymeans {} --help", stop.command.name)));
}

}  // namespace manymeans::cli
