// Aligned columns of text.
#pragma once

#include <string>
#include <vector>

namespace manymeans::cli {

/// One line for each row, control characters escaped, two spaces between columns; columns marked 'r' in `alignment` go
/// to the right. Every row has as many cells as there are marks.
std::string format_table(const std::string& alignment, std::vector<std::vector<std::string>> rows);

}  // namespace manymeans::cli
