// Arrow tables through the C data interface: nothing of Arrow is linked.
#pragma once

#include <manymeans/points.h>

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

namespace manymeans::python {

struct ArrowPoints {
  PointsView view;
  std::shared_ptr<const void> owner;
  std::vector<std::string> column_names;  ///< empty where the columns of the table are not those of the points
  bool copied = false;
};

/// Points of an object with __arrow_c_stream__ or __arrow_c_array__: a table of number columns, or one column of lists
/// of one fixed length. Read in place: one such list column, or one column of numbers, in one chunk, of a type that the
/// library reads. All else is copied once, row-major: float64, or float32 where it holds all values.
/// Throws Error(kBadData) that names the column: other types, nulls.
ArrowPoints arrow_points(nanobind::handle table);

}  // namespace manymeans::python
