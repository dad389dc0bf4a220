// In place of the readers and writers of Parquet and Arrow files where CMake has not found Arrow C++.
#include "io/arrow/python_formats.h"

namespace manymeans {

Reader make_parquet_reader() {
  return python_reader(FieldsFormat::kParquet);
}
Reader make_arrow_reader() {
  return python_reader(FieldsFormat::kArrow);
}
Writer make_parquet_writer() {
  return python_writer(FieldsFormat::kParquet);
}
Writer make_arrow_writer() {
  return python_writer(FieldsFormat::kArrow);
}
bool append_to_fields(const RowsWithMore& rows, const std::string& format, OutputFile& file) {
  return append_by_python(rows, format, file);
}

}  // namespace manymeans
