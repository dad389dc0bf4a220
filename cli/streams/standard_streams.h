// The standard streams, with failures noticed.
#pragma once

#include <manymeans/error.h>

#include <string_view>

namespace manymeans::cli {

/// Turns writing to a closed pipe, or beyond ulimit -f, into an error instead of a killing signal. It occupies the
/// numbers of closed standard streams, so that no output file can be opened as standard output by accident.
void prepare_standard_streams();

/// Returns true if a name of an input is standard input.
bool is_standard_input(std::string_view path);

/// Writes to standard output at once, control characters escaped. Throws Error(kUnavailable) when not all of it could
/// be written.
void print(std::string_view text);
/// Prints a JSON text, which stays valid JSON.
void print_json(std::string_view text);

/// "manymeans: warning: ..." on standard error.
void warn(std::string_view message);

/// "manymeans: ..." on standard error: what is good to know and no warning.
void note(std::string_view message);

/// "manymeans: error: ..." on standard error; returns the exit code.
int complain(ErrorCode code, std::string_view message);

/// Writes to standard error, control characters escaped. Failures are ignored: they cannot be reported.
void print_error_stream(std::string_view text);

/// Writes to standard error without escapes, to move the cursor on purpose.
void draw_on_error_stream(std::string_view text);

/// Columns of the terminal behind standard error; 0 when it is not a terminal.
int terminal_width();

}  // namespace manymeans::cli
