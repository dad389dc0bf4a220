#include "flags/flag_values.h"

#include "flags/suggestions.h"

#include <algorithm>

namespace manymeans::cli {

std::string shown(std::string_view text) {
  constexpr size_t kMax = 60;
  return text.size() <= kMax ? std::string(text) : std::string(text.substr(0, kMax)) + "...";
}

void check_choice(std::string_view flag, const std::string& text, const std::vector<std::string>& choices) {
  if (std::ranges::find(choices, text) != choices.end()) return;
  throw Error(ErrorCode::kUsage, std::string(flag),
              fmt::format("must be one of {}, found '{}'{}", fmt::join(choices, ", "), shown(text),
                          choice_suggestion(text, choices)));
}

void check_choice(std::string_view flag, const std::string& text) {
  check_choice(flag, text, choices_of(flag));
}

Flag add_file_flag(const Command& app, const std::string& flag, std::string& path, const std::string& help) {
  const auto store = [flag, &path](const std::string& text) {
    path = text;
    if (path.empty()) throw Error(ErrorCode::kUsage, flag, "is empty; the name of a file is needed");
  };
  return app.add_option(flag, store, help).type_name("FILE");
}

Flag add_file_argument(const Command& app, const std::string& name, std::string& path, const std::string& help) {
  return add_file_flag(app, name, path, help).required();
}

}  // namespace manymeans::cli
