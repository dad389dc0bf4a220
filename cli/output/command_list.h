// The commands and their options as data, for what is made of them: completion scripts, the man page.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace manymeans::cli {

struct ListedOption {
  std::vector<std::string> flags;    ///< "-k", "--clusters"; of an argument its name
  std::string value;                 ///< placeholder of the value; empty: it takes none
  std::string help;                  ///< all of it
  std::string short_help;            ///< its first clause
  std::vector<std::string> choices;  ///< of values, where there are few
  bool takes_file = false;
};
struct ListedCommand {
  std::string name, help, examples;
  std::vector<ListedOption> arguments, options;
};

/// All commands of the program in the order of its help.
std::vector<ListedCommand> listed_commands(const CLI::App& program);

/// The scripts by which these shells complete commands, flags and values.
std::string bash_completion(const std::vector<ListedCommand>& commands);
std::string zsh_completion(const std::vector<ListedCommand>& commands);
std::string fish_completion(const std::vector<ListedCommand>& commands);
/// The page manymeans(1), as roff.
std::string man_page(const std::vector<ListedCommand>& commands, const std::string& version);

}  // namespace manymeans::cli
