// The program: parses, calls a subcommand, turns what was thrown into an exit code.
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/info.h>
#include <manymeans/io.h>

#include "commands/commands.h"
#include "flags/help_format.h"
#include "ranks/ranks.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <new>

namespace {
using namespace manymeans;

int run(int argc, char** argv) {
  int exit_code = 0;
  CLI::App program("Exact k-means for ensembles of models: many models, many cores, one answer.", "manymeans");
  program.formatter(std::make_shared<cli::HelpFormat>());
  program.set_version_flag(
      "--version", [] { return "manymeans " + build_info().version; }, "Print the version and exit");
  program.footer("Run 'manymeans COMMAND --help' for the options and examples of a command.");
  program.require_subcommand(1);
  program.parse_complete_callback([&program] {  // before the command begins
    for (const CLI::App* command : program.get_subcommands()) cli::check_ranks_of(command->get_name());
  });
  cli::add_fit_command(program, exit_code);
  cli::add_search_command(program, exit_code);
  cli::add_choose_command(program, exit_code);
  cli::add_regress_command(program, exit_code);
  cli::add_predict_command(program, exit_code);
  cli::add_convert_command(program, exit_code);
  cli::add_describe_command(program, exit_code);
  cli::add_inspect_command(program, exit_code);
  cli::add_compare_command(program, exit_code);
  cli::add_consensus_command(program, exit_code);
  cli::add_multiply_command(program, exit_code);
  cli::add_info_command(program, exit_code);
  cli::add_bench_command(program, exit_code);
  cli::add_completion_command(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    if (stop.get_exit_code() == 0 && cli::launched().rank > 0) return 0;  // help and version are said once
    return cli::answer_parse_stop(program, stop, argc > 1 ? argv[1] : nullptr);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) try {
  cli::prepare_standard_streams();
  cli::catch_stop_signals(cli::launched().rank == 0);
  guard_mapped_files();
  return cli::end_program(cli::end_ranks(run(argc, argv)));
} catch (const Error& error) {
  return cli::end_program(cli::give_up(error));
} catch (const std::bad_alloc&) {
  return cli::give_up({ErrorCode::kUnavailable, "memory", "there is not enough; fewer models or clusters need less"});
} catch (const std::exception& error) {
  return cli::give_up({ErrorCode::kInternal, "internal", std::string(error.what()) + "; please report this bug"});
}
