#include "output/command_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace manymeans::cli {
namespace {

using Commands = std::vector<ListedCommand>;

std::string made_by(const char* shell) {
  return fmt::format("# Completion of manymeans for {0}; made by 'manymeans completion {0}'.\n", shell);
}

// Puts text in single quotes, as all three shells read it. Inside, fish needs another quote than the others.
std::string quoted(const std::string& text, const char* quote = "'\\''") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      out += c;
    }
  }
  return out + "'";
}

// The choices as words of a list that the shell reads as code: `escape` precedes a character that the shell would take
// for a pipe.
std::string words_of(const ListedOption& option, const std::string& escape) {
  std::string out;
  for (const std::string& choice : choices_of(option)) {
    if (!out.empty()) out += ' ';
    for (const char c : choice) out += c == '|' ? escape + c : std::string(1, c);
  }
  return out;
}

std::string names_of(const Commands& commands, const char* between) {
  std::vector<std::string> names;
  for (const ListedCommand& command : commands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, between));
}

// A case of bash's `case $prev` for every flag that takes a value, each once.
std::string bash_values(const Commands& commands) {
  std::string out;
  std::set<std::string> known;
  for (const ListedCommand& command : commands) {
    for (const ListedOption& option : command.options) {
      if (option.value.empty() || choices_of(option).empty()) continue;
      const std::string pattern = fmt::format("{}", fmt::join(option.flags, "|"));
      if (!known.insert(pattern).second) continue;
      // bash puts a word on the line as it is, so it keeps its escapes.
      out += fmt::format("    {}) COMPREPLY=($(compgen -W {}{} -- \"$cur\")); return ;;\n", pattern,
                         quoted(words_of(option, R"(\\\)")), takes_file(option) ? " -f" : "");
    }
  }
  return out;
}

std::string bash_flags(const ListedCommand& command) {
  std::vector<std::string> flags;
  for (const ListedOption& option : command.options)
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  return fmt::format("    {}) words='{}' ;;\n", command.name, fmt::join(flags, " "));
}

// Inside of [...] of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const ListedOption& option) {
  std::string value;
  if (!option.value.empty()) {
    const std::string action = !choices_of(option).empty() ? "(" + words_of(option, "\\") + ")"
                               : takes_file(option)        ? std::string("_files")
                                                           : std::string();
    value = fmt::format(":{}:{}", zsh_text(option.value), action);
  }
  std::string out;
  for (const std::string& flag : option.flags) {
    const std::string others = option.flags.size() > 1 ? fmt::format("({})", fmt::join(option.flags, " ")) : "";
    out += fmt::format(" \\\n        {}",
                       quoted(fmt::format("{}{}[{}]{}", others, flag, zsh_text(short_help(option)), value)));
  }
  return out;
}

std::string fish_option(const std::string& command, const ListedOption& option) {
  std::string out = fmt::format("complete -c manymeans -n '__fish_seen_subcommand_from {}'", command);
  for (const std::string& flag : option.flags) {
    out += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  }
  if (!choices_of(option).empty()) {
    out += (takes_file(option) ? " -r -F -a " : " -x -a ") + quoted(words_of(option, "\\"), "\\'");
  } else if (!option.value.empty()) {
    out += takes_file(option) ? " -r -F" : " -x";
  }
  return out + " -d " + quoted(short_help(option), "\\'") + "\n";
}

}  // namespace

std::string bash_completion(const Commands& commands) {
  std::string cases;
  for (const ListedCommand& command : commands) cases += bash_flags(command);
  return made_by("bash") + fmt::format(R"(_manymeans() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} words='{} --help --version' word command=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD - 1}}"; do
    case $word in {}) command=$word; break ;; esac
  done
  COMPREPLY=()
  case $prev in
{}  esac
  case $command in
    completion) COMPREPLY=($(compgen -W 'bash zsh fish man' -- "$cur")); return ;;
{}  esac
  if [[ -z $command || $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    compopt -o default 2> /dev/null
  fi
}}
complete -F _manymeans manymeans
)",
                                       names_of(commands, " "), names_of(commands, "|"), bash_values(commands), cases);
}

std::string zsh_completion(const Commands& commands) {
  std::string list, cases;
  for (const ListedCommand& command : commands) {
    list += fmt::format("    {}\n", quoted(fmt::format("{}:{}", command.name, zsh_text(command.help))));
    cases += fmt::format("    {})\n      _arguments -S", command.name);
    for (const ListedOption& option : command.options) cases += zsh_option(option);
    cases += command.name == "completion" ? " \\\n        '1:SHELL:(bash zsh fish man)' ;;\n"
                                          : " \\\n        '*:file:_files' ;;\n";
  }
  return "#compdef manymeans\n" + made_by("zsh") + "_manymeans() {\n  local -a commands\n  commands=(\n" + list +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n" +
         cases + "  esac\n}\n_manymeans \"$@\"\n";
}

std::string fish_completion(const Commands& commands) {
  std::string out = made_by("fish");
  for (const ListedCommand& command : commands) {
    out += fmt::format("complete -c manymeans -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       quoted(command.help, "\\'"));
  }
  out += "complete -c manymeans -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish man'\n";
  for (const ListedCommand& command : commands) {
    for (const ListedOption& option : command.options) out += fish_option(command.name, option);
  }
  return out;
}

}  // namespace manymeans::cli
