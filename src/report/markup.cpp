#include "report/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace manymeans::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

// One character: its bytes in the text and its number. Bytes that are no UTF-8 have size 1 and number 0.
struct Character {
  size_t size = 1;
  uint32_t number = 0;
};

Character character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {1, lead};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + size > text.size()) return {};
  uint32_t number = lead & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    number = number << 6 | (byte(at + i) & 0x3F);
  }
  constexpr uint32_t kMin[] = {0, 0, 0x80, 0x800, 0x10000};
  if (number < kMin[size] || number > 0x10FFFF || (number >= 0xD800 && number < 0xE000)) return {};
  return {size, number};
}

bool harmful(uint32_t number) {
  const bool control = number < 0x20 || (number >= 0x7F && number < 0xA0);
  const bool turns = (number >= 0x202A && number <= 0x202E) || (number >= 0x2066 && number <= 0x2069) ||
                     number == 0x200E || number == 0x200F || number == 0x061C;
  return control || turns || number == 0x2028 || number == 0x2029 || (number & 0xFFFE) == 0xFFFE;
}

// At most `most` characters, the first of them an ellipsis where there are more.
std::string ending(std::string_view text, size_t most) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); at += character_at(text, at).size) starts.push_back(at);
  if (starts.size() <= most) return std::string(text);
  return std::string(kEllipsis) + std::string(text.substr(starts[starts.size() + 1 - most]));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto [size, number] = character_at(text, at);
    switch (number) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += harmful(number) ? kReplacement : text.substr(at, size);
    }
    at += size;
  }
  return out;
}

std::string shortened(std::string_view text, size_t most) {
  size_t at = 0, characters = 0, end = 0;
  while (at < text.size()) {
    if (characters + 1 == most) end = at;
    if (characters == most) return std::string(text.substr(0, end)) + std::string(kEllipsis);
    at += character_at(text, at).size;
    ++characters;
  }
  return std::string(text);
}

std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most) {
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(shortened(name, most));
  const auto for_equal = [&](auto&& change) {
    std::map<std::string, int> times;
    for (const std::string& name : shown) ++times[name];
    for (size_t j = 0; j < names.size(); ++j) {
      if (times[shown[j]] > 1) shown[j] = change(j);
    }
  };
  for_equal([&](size_t j) { return ending(names[j], most); });
  for_equal([&](size_t j) { return fmt::format("{} #{}", shortened(names[j], most - 5), j + 1); });
  return shown;
}

std::string px(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string shown(double value, int digits) {
  if (std::isnan(value)) return "-";
  const double size = std::fabs(value);
  return size >= std::pow(10, digits) && size < 1e9 ? fmt::format("{:.0f}", value)
                                                    : fmt::format("{:.{}g}", value, digits);
}

std::string value_text(double value, double unit, int digits) {
  constexpr double kNothing = 1e-6;
  return std::fabs(value) < kNothing * unit ? "0" : shown(value, digits);
}

std::string brief(double value) {
  const std::string text = shown(value, 3);
  if (text.find('e') == text.npos && text.size() <= 6) return text;
  const std::string mantissa = fmt::format("{:.1e}", value);  // 1.2e+09
  return fmt::format("{}e{}", mantissa.substr(0, mantissa.find('e')),
                     std::stoi(mantissa.substr(mantissa.find('e') + 1)));
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string counted(int64_t count) {
  std::string digits = fmt::format("{}", count);
  for (auto at = std::ssize(digits) - 3; at > (count < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string counted(int64_t count, std::string_view noun) {
  return counted(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows,
                  size_t left) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  const auto opened = [&](const char* tag, size_t column) {
    return fmt::format("<{}{}>", tag, column < left ? " class=\"l\"" : "");
  };
  for (size_t j = 0; j < heads.size(); ++j) out += opened("th", j) + escaped(heads[j]) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t j = 0; j < row.size(); ++j) out += opened("td", j) + escaped(row[j]) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string section(std::string_view title, std::string_view text, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format("<section><h2>{}</h2>\n<p>{}</p>\n{}</section>\n", escaped(title), escaped(text), content);
}

std::string folded(std::string_view title, const std::string& content) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(title), content);
}

std::string fit(const std::string& chart) {
  return "<div class=\"fit\">" + chart + "</div>\n";
}

std::string large(const std::string& chart) {
  return "<div class=\"fit large\">" + chart + "</div>\n";
}

std::string side_by_side(const std::string& charts) {
  return "<div class=\"grid\">" + charts + "</div>\n";
}

}  // namespace manymeans::report
