// Aligned columns of text.
#pragma once

#include <string>
#include <vector>

namespace manymeans::cli {

/// Lines of cells under a head, two spaces between columns; columns marked 'r' in `alignment` go to the right.
/// Every row has as many cells as the head.
std::string format_table(const std::vector<std::string>& head, const std::string& alignment,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace manymeans::cli
