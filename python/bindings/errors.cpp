// manymeans::Error becomes an exception of manymeans/_errors.py, found by its code.
#include <manymeans/error.h>
#include <manymeans/fit_each.h>

#include "module.h"
#include "texts.h"

#include <string>

namespace manymeans::python {
namespace nb = nanobind;

void add_errors() {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const nb::object make = nb::module_::import_("manymeans._errors").attr("exception_of");
      const nb::object exception = make(static_cast<int>(error.code()), to_text(error.what()));
      if (const auto* of = dynamic_cast<const ProblemError*>(&error)) exception.attr("problem") = of->problem();
      PyErr_SetObject(exception.type().ptr(), exception.ptr());
    }
  });
}

}  // namespace manymeans::python
