#include "texts.h"

namespace manymeans::python {
namespace nb = nanobind;
namespace {

constexpr const char* kKeep = "surrogateescape";

}  // namespace

nb::str to_text(std::string_view bytes) {
  PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), kKeep);
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

nb::list to_texts(const std::vector<std::string>& texts) {
  nb::list result;
  for (const std::string& text : texts) result.append(to_text(text));
  return result;
}

std::string bytes_of(nb::handle text) {
  if (nb::isinstance<nb::bytes>(text)) {
    const auto bytes = nb::cast<nb::bytes>(text);
    return {static_cast<const char*>(bytes.data()), bytes.size()};
  }
  PyObject* encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", kKeep);  // says so where it is no str
  if (encoded == nullptr) throw nb::python_error();
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> all_bytes_of(nb::handle texts) {
  std::vector<std::string> result;
  for (const nb::handle text : texts) result.push_back(bytes_of(text));
  return result;
}

}  // namespace manymeans::python
