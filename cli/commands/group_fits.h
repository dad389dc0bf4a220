// `fit --group-by`: a fit for each group of the rows.
#pragma once

#include "commands/fit_command.h"

#include <string>

namespace manymeans::cli {

/// Fits the rows of each value in this column of DATA, a name or a number from 1. Returns the exit code.
int run_group_fits(FitCommand& command, const std::string& column);

}  // namespace manymeans::cli
