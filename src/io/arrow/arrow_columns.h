// Fields and arrays of Arrow C++ as tables of fields. Only files that include Arrow's headers include this.
#pragma once

#include "io/arrow/fields.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <vector>

namespace manymeans {

/// Describes the fields of a table.
std::vector<FieldInfo> fields_of(const arrow::Schema& schema);

/// The columns of a batch, which they keep.
FieldRows rows_of(const arrow::RecordBatch& batch);

}  // namespace manymeans
