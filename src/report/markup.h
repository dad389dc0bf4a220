// Text of a page: escaped, cut short, numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::report {

/// Returns the text as HTML and SVG may hold it, between tags and in attributes. Control characters, marks that turn
/// the direction of the text, and bytes that are no UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

/// At most `most` characters, the last of them an ellipsis where there are more. Not escaped.
std::string shortened(std::string_view text, size_t most);

/// All names shortened, from the end where their beginnings are the same, and numbered where that does not help.
std::vector<std::string> shortened_apart(const std::vector<std::string>& names, size_t most);

/// A coordinate: a tenth of a pixel is enough.
std::string px(double value);
/// So many digits, or all digits before the point of a number that people write out; "-" for NaN.
std::string shown(double value, int digits = 4);
/// As shown(), but a zero that was scaled and scaled back may be 6e-9: less than a millionth of `unit` is 0.
std::string value_text(double value, double unit, int digits);
/// Few characters, for a cell: "51.2", "51210", "1.2e9"
std::string brief(double value);
/// "12.3 %"
std::string percent(double share);
/// "1,234,567"
std::string counted(int64_t count);
/// "1 row", "12 rows"
std::string counted(int64_t count, std::string_view noun);

/// A table that can be copied; its cells are escaped here. `left`: how many columns hold text.
std::string table(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows,
                  size_t left = 1);

/// A heading with text and content below it. Returns nothing if there is no content.
std::string section(std::string_view title, std::string_view text, const std::string& content);

/// A heading that opens what is folded.
std::string folded(std::string_view title, const std::string& content);

/// A chart that takes the width of the page, up to some width; a large one up to twice that. Charts side by side.
std::string fit(const std::string& chart);
std::string large(const std::string& chart);
std::string side_by_side(const std::string& charts);

}  // namespace manymeans::report
