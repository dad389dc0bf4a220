// Text from files and paths, made fit for a terminal. A control byte there moves the cursor, changes the title of the
// window, or hides its neighbours. Characters of other directions or without width show another text than is there.
#pragma once

#include <string>
#include <string_view>

namespace manymeans::cli {

enum class Newlines { kKept, kEscaped };

/// Writes control characters, invisible characters and bytes that are no UTF-8 as \x1b. The rest is unchanged.
std::string printable(std::string_view text, Newlines newlines);

/// Returns JSON with such characters as \u009b. The writer of the JSON has escaped the first 32 already.
std::string printable_json(std::string_view json);

}  // namespace manymeans::cli
