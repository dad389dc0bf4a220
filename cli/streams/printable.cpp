#include "streams/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace manymeans::cli {
namespace {

// The first character: its code, and its bytes; a byte that begins no character of UTF-8 has the length 0.
struct Character {
  uint32_t code = 0;
  size_t length = 0;
};

Character first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : (lead >= 0xe0 ? 3 : 2);
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  uint32_t code = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool half = code >= 0xd800 && code <= 0xdfff;
  return too_long || half || code > 0x10ffff ? Character{} : Character{code, length};
}

struct Range {
  uint32_t first, last;
};

// Control characters, and characters without width (Default_Ignorable_Code_Point) or with an effect on the order or the
// lines of their neighbours.
constexpr Range kUnseen[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool is_unseen(uint32_t code) {
  const auto after = std::ranges::upper_bound(kUnseen, code, {}, &Range::first);
  return after != std::begin(kUnseen) && code <= std::prev(after)->last;
}

// As JSON writes it: above 0xffff by two halves.
void append_escaped(uint32_t code, std::string& out) {
  if (code > 0xffff) {
    append_escaped(0xd800 + ((code - 0x10000) >> 10), out);
    code = 0xdc00 + ((code - 0x10000) & 0x3ff);
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
}

}  // namespace

std::string printable(std::string_view text, Newlines newlines) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_of(text);
    const size_t length = character.length > 0 ? character.length : 1;
    const bool kept = newlines == Newlines::kKept && (character.code == '\n' || character.code == '\t');
    if (character.length > 0 && (kept || !is_unseen(character.code))) {
      out += text.substr(0, length);
    } else {
      for (const char c : text.substr(0, length)) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string printable_json(std::string_view json) {
  std::string out;
  for (;;) {
    const auto plain = std::ranges::find_if(json, [](char c) { return static_cast<unsigned char>(c) >= 0x7f; });
    const auto seen = static_cast<size_t>(plain - json.begin());
    out += json.substr(0, seen);
    json.remove_prefix(seen);
    if (json.empty()) return out;
    const Character character = first_of(json);
    const size_t length = character.length > 0 ? character.length : 1;
    if (character.length > 0 && is_unseen(character.code)) {
      append_escaped(character.code, out);
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
}

}  // namespace manymeans::cli
