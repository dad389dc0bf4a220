// Tables that go to standard output instead of a file.
#pragma once

#include <string>
#include <vector>

namespace manymeans::cli {

/// Where a flag's table goes.
struct StreamOutput {
  std::string flag;
  std::string* path = nullptr;  ///< "-" becomes a path of standard output
};

/// Returns true if one of the tables goes to standard output ('-', /dev/stdout), where no other output may go then.
/// Throws Error(kUsage) if two of them do, or one does and --json prints its object.
bool use_standard_output(const std::vector<StreamOutput>& outputs, bool json);

/// Prints to standard output, or to standard error where a table has that one.
void print_beside(bool taken, const std::string& text);

}  // namespace manymeans::cli
