// The subcommands. Each adds itself to the program and stores its exit code when it has run.
#pragma once

#include <CLI/CLI.hpp>

namespace manymeans::cli {

void add_fit_command(CLI::App& program, int& exit_code);
void add_search_command(CLI::App& program, int& exit_code);
void add_choose_command(CLI::App& program, int& exit_code);
void add_regress_command(CLI::App& program, int& exit_code);
void add_predict_command(CLI::App& program, int& exit_code);
void add_bench_command(CLI::App& program, int& exit_code);
void add_convert_command(CLI::App& program, int& exit_code);
void add_describe_command(CLI::App& program, int& exit_code);
void add_inspect_command(CLI::App& program, int& exit_code);
void add_compare_command(CLI::App& program, int& exit_code);
void add_consensus_command(CLI::App& program, int& exit_code);
void add_multiply_command(CLI::App& program, int& exit_code);
void add_completion_command(CLI::App& program, int& exit_code);
void add_info_command(CLI::App& program, int& exit_code);

}  // namespace manymeans::cli
