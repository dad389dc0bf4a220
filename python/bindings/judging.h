// Between the evidence for a k in Python and that of the library.
#pragma once

#include <manymeans/choose.h>

#include <nanobind/nanobind.h>

namespace manymeans::python {

/// What choose_k has given, from the dict that it gave; without its fit.
ChosenK chosen_in(const nanobind::dict& given);

}  // namespace manymeans::python
