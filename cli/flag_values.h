// Values of flags: text to number or choice, with an error that names the flag. Independent of the locale.
#pragma once

#include <manymeans/error.h>

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace manymeans::cli {

/// The text as shown in a message: cut short where somebody passed a novel.
std::string shown(std::string_view text);

template <class Number>
Number parse_number(std::string_view flag, const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  const char* expected = std::floating_point<Number>      ? "a number"
                         : std::unsigned_integral<Number> ? "a whole number from 0 to 18446744073709551615"
                                                          : "a whole number";
  if (text.empty() || stop != end || problem == std::errc::invalid_argument) {
    throw Error(ErrorCode::kUsage, std::string(flag), fmt::format("must be {}, found '{}'", expected, shown(text)));
  }
  bool fits = problem == std::errc();
  if constexpr (std::floating_point<Number>) fits = fits && std::isfinite(number);
  if (!fits) {
    throw Error(ErrorCode::kUsage, std::string(flag),
                fmt::format("must be {} that the computer can hold, found '{}'", expected, shown(text)));
  }
  return number;
}

/// Throws Error(kUsage) unless `text` is one of the choices.
void check_choice(std::string_view flag, const std::string& text, const std::vector<std::string>& choices);

}  // namespace manymeans::cli
