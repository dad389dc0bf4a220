// Aligned columns of text, and how many points there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans::cli {

/// One line for each row, control characters escaped, two spaces between columns; columns marked 'r' in `alignment` go
/// to the right. Every row has as many cells as there are marks.
std::string format_table(const std::string& alignment, std::vector<std::vector<std::string>> rows);

/// 100 points of 1 column
std::string size_of_points(int64_t rows, int64_t columns);

}  // namespace manymeans::cli
