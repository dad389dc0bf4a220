// The program: parses, calls a subcommand, turns what was thrown into an exit code.
#include <manymeans/error.h>
#include <manymeans/io.h>

#include "commands/commands.h"
#include "flags/help_format.h"
#include "ranks/ranks.h"
#include "streams/cuda_program.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

namespace {
using namespace manymeans;

int run(int argc, char** argv) {
  int exit_code = 0;
  cli::Program program("manymeans", "Exact k-means for ensembles of models: many models, many cores, one answer.",
                       "Run 'manymeans COMMAND --help' for the options and examples of a command.");
  program.before_command(cli::check_ranks_of);
  cli::add_fit_command(program, exit_code);
  cli::add_search_command(program, exit_code);
  cli::add_choose_command(program, exit_code);
  cli::add_tree_command(program, exit_code);
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
  const auto stop = program.parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (!stop) return exit_code;
  const bool mistaken = stop->reason == cli::ParseStop::Reason::kMistake;
  if (!mistaken && cli::launched().rank > 0) return 0;  // help and version are said once
  return cli::answer_parse_stop(*stop, argc > 1 ? argv[1] : nullptr);
}

}  // namespace

int main(int argc, char** argv) try {
  cli::become_cuda_program(argc, argv);
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
