// Readers and writers of Parquet and Arrow files by a Python that has pyarrow: where this program has no Arrow C++.
// Includes nothing of Arrow.
#pragma once

#include "io/arrow/arrow_append.h"
#include "io/arrow/fields.h"
#include "io/table/reader.h"
#include "io/table/writer.h"

namespace manymeans {

Reader python_reader(FieldsFormat format);
Writer python_writer(FieldsFormat format);
/// As append_to_fields().
bool append_by_python(const RowsWithMore& rows, const std::string& format, OutputFile& file);

}  // namespace manymeans
