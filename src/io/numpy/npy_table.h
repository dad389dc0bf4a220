// A table as a NumPy array.
#pragma once

#include "io/table/writer.h"

#include <string>

namespace manymeans {

/// The .npy header of a table: a matrix, or a vector where one column need not be a matrix.
std::string npy_header_of(const Table& table);

}  // namespace manymeans
