// Arrow tables of Python objects.
#pragma once

#include "arrow_table.h"

#include <nanobind/nanobind.h>

namespace manymeans::python {

/// Points of an object with __arrow_c_stream__ or __arrow_c_array__.
/// Throws as points_of(ArrowTable); Error(kBadData) for capsules that are none, or were used before.
ArrowPoints arrow_points(nanobind::handle table);

}  // namespace manymeans::python
