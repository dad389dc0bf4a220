// The look of --help: two columns, wrapped at 80 characters, the same with every version of CLI11.
#pragma once

#include "flags/command_line.h"

namespace manymeans::cli {

/// Answers what stopped the parsing (a request for help or for the version, or a usage error) and returns the
/// exit code. `first_argument` of the program: null when there was none.
int answer_parse_stop(const ParseStop& stop, const char* first_argument);

}  // namespace manymeans::cli
