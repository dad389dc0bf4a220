// Suggestions for words that the program does not know.
#pragma once

#include "output/command_list.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::cli {

/// The one of `words` that `text` most probably is: another case, its beginning, or a slip or two away.
std::optional<std::string> nearest_word(std::string_view text, const std::vector<std::string>& words);

/// "; did you mean ...?", or nothing. A flag of `command`, also for what scikit-learn, faiss and R call it. For a flag
/// that it lacks and others have, the reason.
std::string flag_suggestion(const ListedCommand& command, const std::string& flag);
/// The hint for several files that the shell made of one pattern, if `command` takes only one.
std::string files_suggestion(const ListedCommand& command, const std::vector<std::string>& words);

/// The hint for a word that is no command of `program`; it may be a file.
std::string command_suggestion(const ListedCommand& program, const std::string& word);
/// Returns the hint for a wrong choice.
std::string choice_suggestion(const std::string& text, const std::vector<std::string>& choices);

}  // namespace manymeans::cli
