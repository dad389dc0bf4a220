// Errors of the library in the words of a command.
#pragma once

#include <manymeans/error.h>

#include <functional>
#include <string>

namespace manymeans::cli {

/// Returns the error with another text behind its place.
Error reworded(const Error& error, const std::function<std::string(std::string)>& change);

}  // namespace manymeans::cli
