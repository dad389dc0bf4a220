// Between UTF-8 and the UTF-32 of numpy's '<U' arrays.
#pragma once

#include <string>
#include <string_view>

namespace manymeans {

/// Bytes that are no UTF-8 become U+DC80 to U+DCFF, which are no characters, one each: Python's "surrogateescape". So
/// every name comes back as the bytes that it was.
std::u32string utf8_to_utf32(std::string_view text);
/// Returns true if all of it is UTF-8.
bool is_utf8(std::string_view text);
/// The way back; what else is no character becomes U+FFFD.
std::string utf32_to_utf8(std::u32string_view text);

}  // namespace manymeans
