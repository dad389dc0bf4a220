// Enumerations whose values have names, for options, files and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace manymeans {

/// The names of the values of an enumeration, in their order. An enumeration with names specialises this.
template <class Value>
std::span<const std::string_view> names_of() = delete;

template <class Value>
concept NamedValue = std::is_enum_v<Value> && requires { names_of<Value>(); };

template <NamedValue Value>
std::string_view name_of(Value value) {
  return names_of<Value>()[static_cast<size_t>(value)];
}

/// Returns nothing if no value has this name.
template <NamedValue Value>
std::optional<Value> find_named(std::string_view name) {
  const std::span<const std::string_view> names = names_of<Value>();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Value>(i);
  }
  return std::nullopt;
}

[[noreturn]] void throw_unknown_name(const std::string& option, std::string_view name,
                                     std::span<const std::string_view> names);

/// Returns the value of this name. Throws Error(kUsage) that lists the names of the option.
template <NamedValue Value>
Value value_named(const std::string& option, std::string_view name) {
  const std::optional<Value> value = find_named<Value>(name);
  if (!value) throw_unknown_name(option, name, names_of<Value>());
  return *value;
}

}  // namespace manymeans
