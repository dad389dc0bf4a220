// Aligned columns of text, and how many points there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// One line for each row, control characters escaped, two spaces between columns; columns marked 'r' in `alignment` go
/// to the right. Every row has as many cells as there are marks.
std::string format_table(const std::string& alignment, std::vector<std::vector<std::string>> rows);

/// A mean with six significant digits, or all digits before the decimal point of a number that people write out. A zero
/// that was scaled and scaled back may be 6e-9: less than a millionth of `unit` is 0.
std::string shown_mean(double value, double unit);

/// 100 points of 1 column
std::string size_of_points(int64_t rows, int64_t columns);

}  // namespace manymeans::cli
