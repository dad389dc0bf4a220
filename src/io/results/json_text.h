// JSON that comes out of a file.
#pragma once

#include <string>

namespace manymeans {

/// Whether this is a whole JSON object that is no deeper than what we write; deeper ones exhaust the stack of some
/// parsers.
bool is_json_object(const std::string& text);

}  // namespace manymeans
