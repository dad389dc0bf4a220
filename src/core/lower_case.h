#pragma once

#include <string>

namespace manymeans {

/// The letters of ASCII in lower case, whatever the locale: for endings of files and names of columns.
std::string lower_case(std::string text);

}  // namespace manymeans
