#include "io/numpy/unicode.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace manymeans {
namespace {

constexpr char32_t kReplacement = 0xfffd;
constexpr char32_t kEscape = 0xdc00;  // and the byte, from 0x80 on

bool is_character(char32_t c) {
  return c < 0x110000 && (c < 0xd800 || c > 0xdfff);
}

// Bytes of the sequence that this byte begins; 0: it begins none.
size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

// The character at the start of `text`, and how many bytes it takes; of bytes that are no character, the first alone.
char32_t decode(std::string_view text, size_t& length) {
  constexpr std::array<char32_t, 5> kMin = {0, 0, 0x80, 0x800, 0x10000};  // shorter forms are not UTF-8
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t whole = sequence_length(first);
  length = 1;
  if (whole == 1) return first;
  const char32_t escaped = kEscape + first;
  if (whole == 0 || whole > text.size()) return escaped;
  char32_t c = first & (0x7fu >> whole);
  for (size_t i = 1; i < whole; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return escaped;
    c = c << 6 | (byte & 0x3f);
  }
  if (c < kMin[whole] || !is_character(c)) return escaped;
  length = whole;
  return c;
}

}  // namespace

std::u32string utf8_to_utf32(std::string_view text) {
  std::u32string result;
  while (!text.empty()) {
    size_t length = 0;
    result += decode(text, length);
    text.remove_prefix(length);
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = 0;
    if (decode(text, length) >= kEscape + 0x80 && length == 1) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf32_to_utf8(std::u32string_view text) {
  std::string result;
  const auto tail = [&](char32_t c, int shift) { result += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  for (char32_t c : text) {
    const bool is_escape = c >= kEscape + 0x80 && c <= kEscape + 0xff;
    if (!is_character(c) && !is_escape) c = kReplacement;
    if (is_escape) {
      result += static_cast<char>(c - kEscape);
    } else if (c < 0x80) {
      result += static_cast<char>(c);
    } else if (c < 0x800) {
      result += static_cast<char>(0xc0 | c >> 6);
      tail(c, 0);
    } else if (c < 0x10000) {
      result += static_cast<char>(0xe0 | c >> 12);
      tail(c, 6);
      tail(c, 0);
    } else {
      result += static_cast<char>(0xf0 | c >> 18);
      tail(c, 12);
      tail(c, 6);
      tail(c, 0);
    }
  }
  return result;
}

}  // namespace manymeans
