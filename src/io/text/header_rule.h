// Decides if the first line of a text table holds the names of its columns.
#pragma once

#include "io/table/text_fields.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace manymeans {

struct Cell : Field {
  NumberKind kind = NumberKind::kText;
  double value = 0;  ///< of a number
};
using Row = std::vector<Cell>;

inline bool is_number(const Cell& cell) {
  return cell.kind == NumberKind::kNumber || cell.kind == NumberKind::kOverflow;
}
inline bool is_text(const Cell& cell) {
  return cell.kind == NumberKind::kText;
}

/// Returns true for a number with a decimal comma.
bool is_number_with_comma(std::string_view text);

/// A guess about the first line. The last two could be either, which is worth a warning.
enum class HeaderGuess : uint8_t { kRow, kNames, kPerhapsRow, kPerhapsNames };

/// `rows`: the first lines of a table, at least one; docs/user/files.md, "Header", has the rule.
HeaderGuess guess_header(std::span<const Row> rows);

}  // namespace manymeans
