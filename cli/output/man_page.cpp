#include "output/command_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace manymeans::cli {
namespace {

// A line of text as roff reads it: hyphens that can be copied, no request by accident.
std::string line(std::string_view text) {
  std::string out = !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  return out + "\n";
}

std::string lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string entry(const ListedOption& option) {
  std::string flags = fmt::format("{}", fmt::join(option.flags, ", "));
  if (!option.value.empty() && option.flags[0].starts_with('-')) flags += " " + option.value;
  return ".TP\n.B " + line(flags) + line(full_help(option));
}

std::string section(const ListedCommand& command) {
  std::string usage = "manymeans " + command.name;
  for (const ListedOption& argument : command.arguments) usage += " " + argument.flags[0];
  std::string out = ".SS \"" + fmt::format("manymeans {}", command.name) + "\"\n" + line(command.help) + ".PP\n.B " +
                    line(usage + " [options]");
  for (const ListedOption& argument : command.arguments) out += entry(argument);
  for (const ListedOption& option : command.options) out += entry(option);
  return out + ".PP\n.nf\n" + lines(command.examples) + ".fi\n";
}

}  // namespace

std::string man_page(const std::vector<ListedCommand>& commands, const std::string& version) {
  std::string out = ".\\\" Made by 'manymeans completion man'.\n.TH MANYMEANS 1 \"\" \"manymeans " + version +
                    "\" \"User Commands\"\n.SH NAME\nmanymeans \\- exact k\\-means for ensembles of models\n"
                    ".SH SYNOPSIS\n.B manymeans\n.I COMMAND\n[options]\n.SH DESCRIPTION\n" +
                    line(
                        "Clusters points by exact k-means: many models, many cores, one answer. The answer depends on "
                        "the points, the options and the seed only.") +
                    ".SH COMMANDS\n";
  for (const ListedCommand& command : commands) out += section(command);
  return out + ".SH EXIT STATUS\n" +
         line(
             "0 done, 1 a bug in manymeans, 2 wrong usage, 3 bad data, 4 something is unavailable (a device, memory, "
             "space on the disk), 5 interrupted.");
}

}  // namespace manymeans::cli
