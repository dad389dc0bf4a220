// The subcommands. Each adds itself to the program and stores its exit code when it has run.
#pragma once

#include "flags/command_line.h"

namespace manymeans::cli {

void add_fit_command(Program& program, int& exit_code);
void add_search_command(Program& program, int& exit_code);
void add_choose_command(Program& program, int& exit_code);
void add_tree_command(Program& program, int& exit_code);
void add_regress_command(Program& program, int& exit_code);
void add_predict_command(Program& program, int& exit_code);
void add_bench_command(Program& program, int& exit_code);
void add_convert_command(Program& program, int& exit_code);
void add_describe_command(Program& program, int& exit_code);
void add_inspect_command(Program& program, int& exit_code);
void add_compare_command(Program& program, int& exit_code);
void add_consensus_command(Program& program, int& exit_code);
void add_multiply_command(Program& program, int& exit_code);
void add_completion_command(Program& program, int& exit_code);
void add_info_command(Program& program, int& exit_code);

}  // namespace manymeans::cli
