// Between UTF-8 and the UTF-32 of numpy's '<U' arrays.
#pragma once

#include <string>
#include <string_view>

namespace manymeans {

/// Bytes that are no UTF-8 become U+FFFD.
std::u32string utf8_to_utf32(std::string_view text);
/// What is no character becomes U+FFFD.
std::string utf32_to_utf8(std::u32string_view text);

}  // namespace manymeans
