// The rows of a Parquet or an Arrow file as lines of text. Includes nothing of Arrow.
#pragma once

#include "io/arrow/arrow_append.h"
#include "io/arrow/fields.h"

namespace manymeans {

/// Writes a line of names, and a line for each row with its new cells at the end. `delimiter` separates the fields.
/// Each value has the digits that it needs; nulls are empty fields, and truth values are 1 and 0. Returns false, having
/// written something, where the file does not have rows.rows rows. Throws Error(kUsage) for a column of lists.
bool append_as_text(const RowsWithMore& rows, FieldSource& source, char delimiter, OutputFile& file);

}  // namespace manymeans
