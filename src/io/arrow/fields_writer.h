// The writers of tables of fields, for every library that packs them. Includes nothing of Arrow.
#pragma once

#include "io/arrow/fields.h"
#include "io/table/writer.h"

#include <utility>

namespace manymeans {

/// A writer by `write`, which is or is not there as `find` says.
inline Writer make_fields_writer(FieldsFormat format, std::function<void(const Table& table, OutputFile& file)> write,
                                 FindFormat find) {
  const bool parquet = format == FieldsFormat::kParquet;
  Writer writer;
  writer.description = parquet ? "Parquet, a field for each column (.parquet)"
                               : "Arrow file, which is Feather version 2, a field for each column (.arrow, .feather)";
  writer.endings =
      parquet ? std::vector<std::string_view>{".parquet"} : std::vector<std::string_view>{".arrow", ".feather"};
  writer.write = std::move(write);
  writer.stored_type = without_bfloat16;
  writer.find = std::move(find);
  return writer;
}

}  // namespace manymeans
