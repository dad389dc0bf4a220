// Text that comes from files and paths, made fit for a terminal: a control byte there moves the cursor, changes the
// title of the window, or hides what stands beside it. Characters of other directions or without width show another
// text than is there.
#pragma once

#include <string>
#include <string_view>

namespace manymeans::cli {

enum class Newlines { kKept, kEscaped };

/// Control characters, what nobody sees, and bytes that are no UTF-8, as \x1b; the rest as it is.
std::string printable(std::string_view text, Newlines newlines);

/// The same for JSON, which escapes the first 32 by itself: as \u009b.
std::string printable_json(std::string_view json);

}  // namespace manymeans::cli
