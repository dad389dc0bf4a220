// Cells of one type as cells of another, exactly or not at all.
#pragma once

#include "io/table/writer.h"

namespace manymeans {

/// Returns the table with another type; values are converted block by block while they are written. `where` names the
/// table in the Error(kBadData) that the first value without an exact counterpart gives.
Table with_type(const Table& table, CellType type, const std::string& where);

}  // namespace manymeans
