// Values of flags: text to number or choice, with an error that names the flag. Independent of the locale.
#pragma once

#include <manymeans/error.h>
#include <manymeans/names.h>

#include "flags/command_line.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace manymeans::cli {

/// The text as shown in a message: cut short where somebody passed a novel.
std::string shown(std::string_view text);

/// "a finite number" or "a whole number from `least` to ..".
template <class Number>
std::string range_of(int64_t least) {
  if constexpr (std::floating_point<Number>) return "a finite number";
  return fmt::format("a whole number from {} to {}", least, std::numeric_limits<Number>::max());
}

/// Throws Error(kUsage) unless all of `text` is a number of this type. `least` is what the message says; who calls
/// refuses numbers below it.
template <class Number>
Number parse_number(std::string_view flag, const std::string& text, int64_t least = 0) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  bool good = problem == std::errc() && stop == end;
  if constexpr (std::floating_point<Number>) good = good && std::isfinite(number);
  if (good) return number;
  throw Error(ErrorCode::kUsage, std::string(flag),
              fmt::format("must be {}, found '{}'", range_of<Number>(least), shown(text)));
}

/// Returns the action of a flag whose number is at least `least`. It stores the number in `value`, which must outlive
/// the flag.
template <class Number>
StoreText number_into(const char* flag, Number& value, int64_t least) {
  return [flag, &value, least](const std::string& text) {
    value = parse_number<Number>(flag, text, least);
    if (value < least) throw Error(ErrorCode::kUsage, flag, fmt::format("must be at least {}, found {}", least, value));
  };
}

/// Throws Error(kUsage) unless `text` is one of the choices: of the flag (choices_of), or these.
void check_choice(std::string_view flag, const std::string& text);
void check_choice(std::string_view flag, const std::string& text, const std::vector<std::string>& choices);

/// Returns the value that the text of this flag names; throws as check_choice() does.
template <NamedValue Value>
Value choice_named(std::string_view flag, const std::string& text) {
  check_choice(flag, text);
  return find_named<Value>(text).value();
}

/// Adds a flag that takes the name of a file, which is not empty.
Flag add_file_flag(const Command& app, const std::string& flag, std::string& path, const std::string& help);
/// Adds a required argument, without dashes.
Flag add_file_argument(const Command& app, const std::string& name, std::string& path, const std::string& help);

}  // namespace manymeans::cli
