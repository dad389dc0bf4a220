// Decides if the first line of a text table holds the names of its columns.
#pragma once

#include "io/table/text_fields.h"

#include <cstdint>
#include <span>
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

/// Returns true for a text that can name a column. A gap, and signs alone such as "?" or "-", mean a missing value, and
/// "1,5" means a number.
bool is_name(const Cell& cell);

/// A guess about the first line. The last two could be either, which is worth a warning.
enum class HeaderGuess : uint8_t { kRow, kNames, kPerhapsRow, kPerhapsNames };

/// `rows`: the first lines of a table, at least one; docs/user/files.md, "Header", has the rule.
HeaderGuess guess_header(std::span<const Row> rows);

}  // namespace manymeans
