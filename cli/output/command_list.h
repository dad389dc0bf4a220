// The commands and their options as data, for what is made of them: help, completion scripts, the man page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace manymeans::cli {

struct ListedOption {
  std::vector<std::string> flags;  ///< "-k", "--clusters"; of an argument its name
  std::string value;               ///< placeholder of the value; empty: it takes none
  std::string help;
  std::string default_value;  ///< empty: there is none to show
  std::string group;          ///< title above it in --help
};
struct ListedCommand {
  std::string name, help, examples;
  std::vector<ListedOption> arguments, options;
  std::vector<ListedCommand> commands;  ///< of the program
};

/// The help with the default value.
std::string full_help(const ListedOption& option);
/// The first clause of the help.
std::string short_help(const ListedOption& option);
/// The values of a flag, in all commands alike, if there are few and all are names; else none.
std::vector<std::string> choices_of(std::string_view flag);
std::vector<std::string> choices_of(const ListedOption& option);
bool takes_file(const ListedOption& option);

/// The scripts by which these shells complete commands, flags and values.
std::string bash_completion(const std::vector<ListedCommand>& commands);
std::string zsh_completion(const std::vector<ListedCommand>& commands);
std::string fish_completion(const std::vector<ListedCommand>& commands);
/// The page manymeans(1), as roff.
std::string man_page(const std::vector<ListedCommand>& commands, const std::string& version);

}  // namespace manymeans::cli
