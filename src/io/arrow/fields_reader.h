// The readers of tables of fields, for every library that unpacks them. Includes nothing of Arrow.
#pragma once

#include "io/arrow/fields.h"
#include "io/table/reader.h"

namespace manymeans {

/// A reader of files that `open` opens, which is or is not there as `find` says.
Reader make_fields_reader(FieldsFormat format, const OpenFields& open, FindFormat find);

}  // namespace manymeans
