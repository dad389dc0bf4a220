// Texts of files (headers, names, what errors quote) need not be UTF-8: such bytes become the surrogates of PEP 383 in
// Python and bytes again on the way back, so that nothing raises and names go round unchanged.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace manymeans::python {

nanobind::str to_text(std::string_view bytes);
nanobind::list to_texts(const std::vector<std::string>& texts);

/// Of a str (its surrogates as the bytes that they stand for) or of bytes. Throws nanobind::python_error for others.
std::string bytes_of(nanobind::handle text);
std::vector<std::string> all_bytes_of(nanobind::handle texts);

}  // namespace manymeans::python
