// Arrays of Arrow as columns of numbers. Only files that include Arrow's headers include this.
#pragma once

#include "io/table/float32_check.h"
#include "io/table/row_store.h"

#include <arrow/array/array_base.h>
#include <arrow/type.h>

#include <cstdint>
#include <optional>
#include <string>

namespace manymeans {

/// How a field becomes columns of points.
enum class FieldKind : uint8_t {
  kNumber,     ///< one column
  kFixedList,  ///< a list of as many numbers in every row: so many columns
  kList,       ///< the same where only the rows say how many
  kOther,      ///< text, dates, structures: no numbers
};
FieldKind kind_of(const arrow::DataType& type);

/// The type of the numbers in a field: its own, or that of the items of its lists, dictionaries and extensions undone.
arrow::Type::type number_type(const arrow::DataType& type);

/// The length of the lists of a type of kind kFixedList.
int64_t fixed_length(const arrow::DataType& type);

/// The length of the list in row 0 of an array of kind kList; nothing where it is null, -1 for more than there is.
std::optional<int64_t> first_length(const arrow::Array& array);

/// The first row of a block that cannot be used.
struct ArrowProblem {
  int64_t row = 0;  ///< in the array
  std::string what;
};

/// Where the numbers of one field go.
struct ArrowTarget {
  double* values = nullptr;  ///< of the first row and the field's first column
  int64_t row_step = 0;      ///< doubles from a row to the next
  int64_t width = 1;         ///< columns of the field
  DataType type = DataType::kFloat32;
  LostIntegers* lost = nullptr;     ///< none: not asked for
  Float32Check* float32 = nullptr;  ///< likewise
  size_t lost_column = 0;           ///< of the first column there
  int64_t row_number = 0;           ///< of the first row in the file, from 1
};

/// Rows [first, first + count) of an array of any kind but kOther, up to the first that cannot be used.
std::optional<ArrowProblem> copy_rows(const arrow::Array& array, int64_t first, int64_t count,
                                      const ArrowTarget& target);

}  // namespace manymeans
