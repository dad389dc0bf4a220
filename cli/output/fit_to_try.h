// The command that 'describe' proposes for a table.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// Returns a 'manymeans fit' command for a shell that runs on this table as it was read with these options; empty if no
/// column can be fitted. It leaves out columns that measure nothing, and fills gaps.
std::string fit_to_try(const std::string& path, const ReadOptions& options, const TableSummary& table);

/// Returns what of a table stands in the way of a fit with these options, in all of its columns, for the end of a
/// message about the first of them: "text in 'town'; gaps in 'age', 'income'". Empty if only one column does.
std::string problems_of(const ReadOptions& options, const TableSummary& table);

}  // namespace manymeans::cli
