#include "output/command_list.h"

#include <algorithm>
#include <string_view>

namespace manymeans::cli {
namespace {

// Values of flags that are names, in all commands alike.
struct Values {
  std::string_view flag;
  std::vector<std::string> choices;
};
const std::vector<Values>& known_values() {
  static const std::vector<Values> all = {
      {"--init", {"auto", "k-means++", "k-means||", "random", "first"}},
      {"--empty", {"farthest", "keep", "drop", "error"}},
      {"--algorithm", {"auto", "matrix", "bounds", "kdtree", "brute"}},
      {"--backend", {"auto", "cpu", "reference", "cuda", "opencl"}},
      {"--strategy", {"concatenated", "data", "task"}},
      {"--dtype", {"float32", "float64", "float16", "bfloat16", "uint8", "int8"}},
      {"--header", {"yes", "no", "auto"}},
      {"--decimal", {".", ","}},
      {"--missing", {"error", "drop", "mean", "median"}},
      {"--categories", {"error", "drop", "onehot"}},
      {"--scale", {"none", "standard", "minmax"}},
      {"--intercept", {"true", "false"}},
      {"--gating", {"nearest", "prior", "columns"}},
      {"--method", {"centroids", "matched"}},
  };
  return all;
}

std::string first_clause(const std::string& text) {
  const size_t end = std::min({text.find(';'), text.find(": "), text.find(". "), text.size()});
  std::string clause = text.substr(0, end);
  if (clause.ends_with('.')) clause.pop_back();
  return clause;
}

ListedOption listed(const CLI::Option& option) {
  ListedOption result;
  if (option.get_positional()) {
    result.flags = {option.get_name(true)};
    result.value = option.get_name(true);
  } else {
    for (const std::string& name : option.get_snames()) result.flags.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) result.flags.push_back("--" + name);
    result.value = option.get_type_name();
  }
  result.help = option.get_description();
  result.short_help = first_clause(result.help);
  if (!option.get_default_str().empty()) result.help += " [default: " + option.get_default_str() + "]";
  for (const Values& values : known_values()) {
    if (std::ranges::find(result.flags, values.flag) != result.flags.end()) result.choices = values.choices;
  }
  result.takes_file =
      result.value.find("FILE") != std::string::npos || result.help.find("or a file") != std::string::npos;
  return result;
}

}  // namespace

std::vector<ListedCommand> listed_commands(const CLI::App& program) {
  std::vector<ListedCommand> commands;
  for (const CLI::App* app : program.get_subcommands([](const CLI::App*) { return true; })) {
    ListedCommand command{.name = app->get_name(),
                          .help = app->get_description(),
                          .examples = app->get_footer(),
                          .arguments = {},
                          .options = {}};
    for (const CLI::Option* option : app->get_options()) {
      (option->get_positional() ? command.arguments : command.options).push_back(listed(*option));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace manymeans::cli
