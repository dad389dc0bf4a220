// The command that 'describe' proposes for a table.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// Returns a 'manymeans fit' command for a shell that runs on this table as it was read with these options; empty if no
/// column can be fitted. It leaves out columns that measure nothing, and fills gaps.
std::string fit_to_try(const std::string& path, const ReadOptions& options, const TableSummary& table);

/// As an argument in a shell.
std::string quoted(const std::string& text);

/// Returns why columns of a table stop a fit with these options: "text in 'town'; gaps in 'age', 'income'". A message
/// about the first such column ends with it. Empty if there is only one.
std::string problems_of(const ReadOptions& options, const TableSummary& table);

}  // namespace manymeans::cli
