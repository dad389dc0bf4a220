// manymeans completion: what shells and man(1) know of the program, made from its own list of options.
#include <manymeans/fit.h>
#include <manymeans/info.h>

#include "commands/commands.h"
#include "flags/flag_values.h"
#include "output/command_list.h"
#include "streams/standard_streams.h"

#include <memory>

namespace manymeans::cli {
namespace {

const char* const kExamples =
    "Examples:\n"
    "  source <(manymeans completion bash)\n"
    "      For this shell. To keep it: write it to the file\n"
    "      ~/.local/share/bash-completion/completions/manymeans\n"
    "  manymeans completion zsh > ~/.zfunc/_manymeans\n"
    "      A folder of $fpath.\n"
    "  manymeans completion fish > ~/.config/fish/completions/manymeans.fish\n"
    "  manymeans completion man | man -l -\n"
    "      The page manymeans(1).\n\n"
    "'cmake --install' and the Debian package put all of them where they belong.\n"
    "Exit codes: 0 done, 2 usage, 4 standard output cannot be written, 1 a bug.";

std::string made_for(const std::string& shell, const std::vector<ListedCommand>& commands) {
  check_choice("SHELL", shell, {"bash", "zsh", "fish", "man"});
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  return man_page(commands, build_info().version);
}

}  // namespace

void add_completion_command(Program& program, int& exit_code) {
  const Command app = program.add_command("completion", "Print the completion of a shell, or the man page.");
  const auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish; or man for the page manymeans(1).").required().type_name("");
  app.footer(kExamples);
  app.callback([shell, &program, &exit_code] {
    print(made_for(*shell, program.listed().commands));
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
