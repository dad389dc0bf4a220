#include "flags/flag_values.h"

#include "flags/suggestions.h"

#include <algorithm>

namespace manymeans::cli {

std::string shown(std::string_view text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

void check_choice(std::string_view flag, const std::string& text, const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, text) != choices.end()) return;
  throw Error(ErrorCode::kUsage, std::string(flag),
              fmt::format("must be one of {}, found '{}'{}", fmt::join(choices, ", "), shown(text),
                          choice_suggestion(text, choices)));
}

}  // namespace manymeans::cli
